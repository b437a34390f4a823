"""Learning from pictures that were randomized before they were shared.

An encoder turns a picture into m whole numbers below d, its codes. The device answers each by
randomized response, ε per code, m·ε per picture, and a learner sees only the answers and the
labels; labels are not protected. A picture may also send k codes at random positions: k·ε for the
whole picture.

    encoders    OrientationBits, OrientationCodes (need no training data),
                DCAConv, PixelCodes, HogWords, BinaryNetwork                    pictures → codes
    device      RandomizedResponse                                                codes → answers
    learners    DebiasedNaiveBayes, DebiasedCentroid, PerturbedKNN
    training    train, evaluate, classify; hold_out and choose for settings
    files       save_encoder, load_encoder, save_model, load_model
    estimates   frequencies and means of answers, with their variances

Encoders and learners follow scikit-learn.

>>> import sfumato as sf
>>> from sklearn.datasets import load_digits
>>> pictures, labels = load_digits().images * 15, load_digits().target
>>> encoder = sf.classification.OrientationBits(8).fit(pictures)  # learns their size, no more
>>> mechanism = sf.classification.RandomizedResponse(epsilon=1.0, num_values=2)
>>> sent = mechanism.perturb(  # seeded for an example; devices draw from sf.SecureRandom()
...     encoder.transform(pictures[:1500]), rng=sf.SeededRandom(0), map_shape=encoder.map_shape_
... )
>>> sent
Codes(1500 pictures × 128 of 128 codes in [2], ε = 1 per code)
>>> learner = sf.classification.DebiasedNaiveBayes().fit(sent, labels[:1500])
>>> codes = encoder.transform(pictures[1500:])
>>> sf.classification.evaluate(learner, codes, labels[1500:]) > 0.6
True
"""

from typing import Any

import lazy_loader

#: What a device needs to send codes; everything else learns from them.
_OF_THE_DEVICE = ("Codes", "RandomizedResponse")

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in __all__ and name not in _OF_THE_DEVICE:
        from sfumato.classification.files import need_learning

        need_learning(f"sfumato.classification.{name}")
    return _load(name)
