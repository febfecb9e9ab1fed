# Emulated nodes have only TCP, and too few real CPUs for ranks that spin. Open MPI 4 calls its
# shared memory "vader".
if ls /usr/lib/*/openmpi/lib/openmpi*/mca_btl_vader.so >/dev/null 2>&1; then
	export OMPI_MCA_btl=self,vader,tcp
else
	export OMPI_MCA_btl=self,sm,tcp
fi
export OMPI_MCA_pml=ob1
export OMPI_MCA_btl_tcp_if_include=10.0.0.0/24
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
