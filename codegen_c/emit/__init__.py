"""Planned programs -> the files of a C package: image, kernels, headers and build files."""

from . import arduino as arduino
from .assemble import c_name as c_name
from .assemble import module_name as module_name
from .assemble import package as package
