/**
 * A seccomp filter of system calls, as a program for classic BPF. It blocks calls that no box needs
 * and calls that bypass namespaces. All processes in a box and its agent inherit it.
 */

/** The properties of a processor's architecture. */
interface Architecture {
  readonly audit: number
  /** Calls from this number on use another ABI; null if there is none. */
  readonly alternateAbiFrom: number | null
  readonly forbidden: readonly number[]
  readonly ioctl: number
  readonly sockets: readonly number[]
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000_003e,
    alternateAbiFrom: 0x4000_0000,
    forbidden: [
      321,
      323, // bpf, userfaultfd
      250,
      248,
      249, // keyctl, add_key, request_key
      298,
      246,
      320, // perf_event_open, kexec_load, kexec_file_load
      175,
      313,
      176, // init_module, finit_module, delete_module
      304,
      167,
      168, // open_by_handle_at, swapon, swapoff
      169,
      163,
      179,
      443, // reboot, acct, quotactl, quotactl_fd
    ],
    ioctl: 16,
    sockets: [41, 53],
  },
  arm64: {
    audit: 0xc000_00b7,
    alternateAbiFrom: null,
    forbidden: [
      280,
      282, // bpf, userfaultfd
      219,
      217,
      218, // keyctl, add_key, request_key
      241,
      104,
      294, // perf_event_open, kexec_load, kexec_file_load
      105,
      273,
      106, // init_module, finit_module, delete_module
      265,
      224,
      225, // open_by_handle_at, swapon, swapoff
      142,
      89,
      60,
      443, // reboot, acct, quotactl, quotactl_fd
    ],
    ioctl: 29,
    sockets: [198, 199],
  },
}

/** io_uring_setup, io_uring_enter, io_uring_register: the same numbers on all architectures. */
const IO_URING_CALLS = [425, 426, 427]
/** Pushing input into a terminal (TIOCSTI) and a console (TIOCLINUX). */
const TERMINAL_INPUT = [0x5412, 0x541c]
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Others, such as AF_VSOCK, ignore namespaces. */
const ALLOWED_FAMILIES = [1, 2, 10, 16]

const ALLOW = 0x7fff_0000
const KILL = 0x8000_0000
const rejectWith = (errno: number): number => 0x0005_0000 + errno
const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97]

/** Offsets in the kernel's `seccomp_data`: call number, architecture, the first two arguments. */
const [NUMBER, ARCHITECTURE, FIRST, SECOND] = [0, 4, 16, 24]

type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, value: number]

const load = (offset: number): Instruction => [0x20, 0, 0, offset]
const returnAction = (value: number): Instruction => [0x06, 0, 0, value]
/** Skips the next `length` instructions unless the value is equal. */
const unlessEqual = (value: number, length: number): Instruction => [0x15, 0, length, value]
const unlessFrom = (value: number, length: number): Instruction => [0x35, 0, length, value]

/** Returns an action if the loaded value is one of these. */
const whenAnyOf = (values: readonly number[], action: number): readonly Instruction[] =>
  values.flatMap((value) => [unlessEqual(value, 1), returnAction(action)])

/** Runs inner instructions if the loaded call number is this one. */
function whenCall(call: number, inner: readonly Instruction[]): readonly Instruction[] {
  return [unlessEqual(call, inner.length), ...inner]
}

/** The filter for an architecture, named as in Node; null if there is none. */
export function seccompFilter(name: string): Buffer | null {
  const architecture = ARCHITECTURES[name]
  if (architecture === undefined) return null
  const { audit, forbidden, ioctl, alternateAbiFrom, sockets } = architecture
  const instructions = [
    load(ARCHITECTURE),
    [0x15, 1, 0, audit] as const,
    returnAction(KILL),
    load(NUMBER),
    ...(alternateAbiFrom === null
      ? []
      : [unlessFrom(alternateAbiFrom, 1), returnAction(rejectWith(ENOSYS))]),
    ...whenAnyOf(IO_URING_CALLS, rejectWith(ENOSYS)),
    ...whenAnyOf(forbidden, rejectWith(EPERM)),
    ...whenCall(ioctl, [
      load(SECOND),
      ...whenAnyOf(TERMINAL_INPUT, rejectWith(EPERM)),
      returnAction(ALLOW),
    ]),
    ...sockets.flatMap((call) =>
      whenCall(call, [
        load(FIRST),
        ...whenAnyOf(ALLOWED_FAMILIES, ALLOW),
        returnAction(rejectWith(EAFNOSUPPORT)),
      ]),
    ),
    returnAction(ALLOW),
  ]
  return Buffer.concat(
    instructions.map(([code, jumpTrue, jumpFalse, value]) => {
      const bytes = Buffer.alloc(8)
      bytes.writeUInt16LE(code, 0)
      bytes.writeUInt8(jumpTrue, 2)
      bytes.writeUInt8(jumpFalse, 3)
      bytes.writeUInt32LE(value, 4)
      return bytes
    }),
  )
}
