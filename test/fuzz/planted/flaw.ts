/** Throws for inputs that random bytes reach with a probability of 2^-64, because eight bytes are fixed. Returns how far an input gets. */
export function parse(bytes: Uint8Array): number {
  if (bytes[0] !== 0x67) return 0
  if (bytes[1] !== 0xc3) return 1
  if (bytes[2] !== 0x1f) return 2
  if (bytes.length > 40) return 3
  if (bytes[3] === bytes[4]) return 4
  if (bytes[5] !== 0x9e) return 5
  if (bytes[6] !== (bytes[1] ^ 0x55)) return 6
  if (bytes[7] !== 0x04) return 7
  if (bytes[8] === 0x71 && bytes[9] === 0x11) throw new Error('planted flaw')
  return 8
}
