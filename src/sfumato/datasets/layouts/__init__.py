"""Public data sets as they are distributed, one reader for each, all to the same `Scene`.

    cameras    images/ and cameras.json (docs/own-data.md)
    7scenes    seq-NN/frame-NNNNNN.color.png and .pose.txt, TrainSplit.txt, TestSplit.txt
    12scenes   data/frame-NNNNNN.color.jpg and .pose.txt, info.txt, split.txt
    cambridge  dataset_train.txt, dataset_test.txt, reconstruction.nvm
    tum        rgb.txt, groundtruth.txt
    nerf       transforms.json, or transforms_train.json and transforms_test.json
    hloc       a COLMAP model, and lists of queries with intrinsics
    kapture    sensors/sensors.txt, records_camera.txt, trajectories.txt

`read_layout` in choose.py knows them by these names.
"""
