/** What a sandbox of each size may use at most. */
import type { SandboxSize } from "../port.ts"

const MEBIBYTE = 1024 * 1024
const GIBIBYTE = 1024 * MEBIBYTE

/** How much a box may use. */
export interface SizeLimits {
  readonly memoryBytes: number
  /** Processors, as a share of one. */
  readonly cores: number
  readonly processes: number
  /** Workspace, home and temporary files together. */
  readonly diskBytes: number
  readonly fileBytes: number
  readonly openFiles: number
  readonly sharedMemoryBytes: number
}

/** The limits of each size. */
export const SIZES: Readonly<Record<SandboxSize, SizeLimits>> = {
  small: {
    memoryBytes: GIBIBYTE,
    cores: 0.5,
    processes: 256,
    diskBytes: 2 * GIBIBYTE,
    fileBytes: 2 * GIBIBYTE,
    openFiles: 4_096,
    sharedMemoryBytes: 64 * MEBIBYTE,
  },
  medium: {
    memoryBytes: 2 * GIBIBYTE,
    cores: 1,
    processes: 512,
    diskBytes: 5 * GIBIBYTE,
    fileBytes: 4 * GIBIBYTE,
    openFiles: 8_192,
    sharedMemoryBytes: 64 * MEBIBYTE,
  },
  large: {
    memoryBytes: 4 * GIBIBYTE,
    cores: 2,
    processes: 1_024,
    diskBytes: 10 * GIBIBYTE,
    fileBytes: 8 * GIBIBYTE,
    openFiles: 16_384,
    sharedMemoryBytes: 128 * MEBIBYTE,
  },
  xlarge: {
    memoryBytes: 8 * GIBIBYTE,
    cores: 4,
    processes: 2_048,
    diskBytes: 20 * GIBIBYTE,
    fileBytes: 16 * GIBIBYTE,
    openFiles: 32_768,
    sharedMemoryBytes: 256 * MEBIBYTE,
  },
  build: {
    memoryBytes: 2 * GIBIBYTE,
    cores: 2,
    processes: 512,
    diskBytes: 4 * GIBIBYTE,
    fileBytes: 4 * GIBIBYTE,
    openFiles: 8_192,
    sharedMemoryBytes: 64 * MEBIBYTE,
  },
  preview: {
    memoryBytes: GIBIBYTE,
    cores: 1,
    processes: 256,
    diskBytes: 2 * GIBIBYTE,
    fileBytes: 2 * GIBIBYTE,
    openFiles: 4_096,
    sharedMemoryBytes: 64 * MEBIBYTE,
  },
}

/** How many at once in a box of any size, and how much is kept of what those in the background write. */
export const MOST = {
  commands: 64,
  background: 32,
  logBytes: 1_000_000,
  keptProcesses: 200,
} as const
