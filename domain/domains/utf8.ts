/** The bytes of a text without lone surrogates, in UTF-8. */
export function utf8Of(text: string): readonly number[] {
  const bytes: number[] = []
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    const tail = (bits: number) => 0x80 | ((code >> bits) & 0x3f)
    if (code < 0x80) bytes.push(code)
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), tail(0))
    else if (code < 0x1_0000) bytes.push(0xe0 | (code >> 12), tail(6), tail(0))
    else bytes.push(0xf0 | (code >> 18), tail(12), tail(6), tail(0))
  }
  return bytes
}
