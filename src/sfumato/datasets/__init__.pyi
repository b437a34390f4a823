from .gallery import GallerySettings as GallerySettings
from .gallery import Scene as Scene
from .gallery import View as View
from .gallery import load_gallery as load_gallery
from .gallery import point_at as point_at
from .gallery_map import map_scene as map_scene
