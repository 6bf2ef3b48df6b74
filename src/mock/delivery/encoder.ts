const encoder = new TextEncoder()

/**
 * The bytes of a text as UTF-8, in memory of their own. Most payloads are ASCII, of which the length is known before: then
 * it takes two thirds of the time.
 */
export function encode(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length)
  const { read } = encoder.encodeInto(text, bytes)
  return read === text.length ? bytes : encoder.encode(text)
}
