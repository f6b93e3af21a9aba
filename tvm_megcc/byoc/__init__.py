"""tvm_megcc inside TVM: parts of a module that our compiler takes, in TVM's virtual machine."""

from tvm_megcc.byoc.partition import PartitionForMegcc as PartitionForMegcc
from tvm_megcc.byoc.partition import partition_for_megcc as partition_for_megcc
from tvm_megcc.byoc.regions import inside as inside
from tvm_megcc.byoc.regions import is_region as is_region
