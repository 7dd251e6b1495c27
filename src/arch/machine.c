/* machine.c - a stopped thread's registers, read and written by ptrace.
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/machine.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

bool cairn_machine_read_registers(int tid, struct cairn_machine *machine)
{
	struct iovec general = {&machine->registers, sizeof machine->registers};
	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &general) == 0 && general.iov_len == sizeof machine->registers;
}

bool cairn_machine_read(int tid, struct cairn_machine *machine)
{
	struct iovec vectors = {machine->vectors, sizeof machine->vectors};
	if (!cairn_machine_read_registers(tid, machine) || !cairn_machine_fits(tid, machine))
		return false;
	if (ptrace(PTRACE_GETREGSET, tid, cairn_machine_vectors, &vectors) != 0 ||
	    ptrace(PTRACE_GETSIGMASK, tid, sizeof machine->signals, &machine->signals) != 0)
		return false;
	machine->vectors_size = vectors.iov_len;
	return true;
}

bool cairn_machine_write_registers(int tid, struct cairn_machine *machine)
{
	struct iovec general = {&machine->registers, sizeof machine->registers};
	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &general) == 0;
}

bool cairn_machine_write(int tid, struct cairn_machine *machine)
{
	struct iovec vectors = {machine->vectors, machine->vectors_size};
	return ptrace(PTRACE_SETREGSET, tid, cairn_machine_vectors, &vectors) == 0 &&
	       ptrace(PTRACE_SETSIGMASK, tid, sizeof machine->signals, &machine->signals) == 0 &&
	       cairn_machine_write_registers(tid, machine);
}
