const UNITS = ["bytes", "KiB", "MiB", "GiB"] as const

/** Formats a size: `512 MiB`. */
export function sizeText(bytes: number): string {
  const step = Math.min(
    UNITS.length - 1,
    Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)),
  )
  const size = bytes / 1024 ** step
  return `${size.toLocaleString("en-US", { maximumFractionDigits: size < 10 ? 1 : 0 })} ${UNITS[step]}`
}
