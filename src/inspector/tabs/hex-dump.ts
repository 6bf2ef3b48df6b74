const WIDTH = 16

/** Lines with an offset, 16 bytes in hex, and the printable ASCII characters among them. */
export function hexDump(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let start = 0; start < bytes.length; start += WIDTH) {
    const line = bytes.subarray(start, start + WIDTH)
    const hex = Array.from(line, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const text = Array.from(line, (byte) =>
      byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.',
    ).join('')
    lines.push(`${start.toString(16).padStart(8, '0')}  ${hex.padEnd(WIDTH * 3 - 1)}  ${text}`)
  }
  return lines.join('\n')
}
