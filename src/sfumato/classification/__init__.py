"""Learning from pictures that were randomized before they were shared.

An encoder turns a picture into m whole numbers below d. The device answers each by
randomized response, ε per code, m·ε per picture, and the learners here see only the
answers and the labels; labels are not protected. A picture may also send k codes at
random places: k·ε for the whole picture.

    encoders    DCAConv, PixelCodes, HogWords, OrientationCodes …   pictures → codes
    learners    DebiasedNaiveBayes, DebiasedCentroid, PerturbedKNN
    estimates   frequencies and means with their variances

Learners follow scikit-learn: X is an (N, m) array of codes, or `Codes`, which know their
own d, ε and positions.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
