/** The text of bytes in a character set, or undefined where they are not of it. */
export function decodeAs(bytes: Uint8Array, charset: string): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

export function utf16(text: string, endian: 'little' | 'big'): Uint8Array {
  const view = new DataView(new ArrayBuffer(2 * text.length))
  for (let i = 0; i < text.length; i++) view.setUint16(2 * i, text.charCodeAt(i), endian === 'little')
  return new Uint8Array(view.buffer)
}

/** Windows-1252, which is what the web calls Latin-1; undefined where a character has no place in it. */
export function windows1252(text: string): Uint8Array | undefined {
  const table = new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, byte) => byte))
  const codes = new Map([...table].map((character, byte) => [character, byte]))
  const bytes = [...text].map((character) => codes.get(character))
  return bytes.includes(undefined) ? undefined : Uint8Array.from(bytes as number[])
}

/** JSON as other writers write it. */
export function* rewriteJson(text: string): Generator<string> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return
  }
  for (const subject of [value, sorted(value)]) {
    for (const layout of LAYOUTS) {
      const json = layout(subject)
      yield json
      for (const rewrite of ESCAPES) yield rewrite(json)
    }
  }
}

const LAYOUTS: readonly ((value: unknown) => string)[] = [
  (value) => JSON.stringify(value),
  (value) => JSON.stringify(value, null, 2),
  (value) => JSON.stringify(value, null, 4),
  (value) => JSON.stringify(value, null, '\t'),
  // Python's: a space after each comma and colon, all in one line.
  (value) => JSON.stringify(value, null, 1).replace(/(,?)\n */g, (_, comma: string) => comma && ', '),
]

const nonAscii = (json: string, hex: (code: string) => string): string =>
  json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${hex(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`)
const slashes = (json: string): string => json.replaceAll('/', '\\/')

const ESCAPES: readonly ((json: string) => string)[] = [
  (json) => nonAscii(json, (code) => code),
  (json) => nonAscii(json, (code) => code.toUpperCase()),
  slashes,
  (json) => slashes(nonAscii(json, (code) => code)),
  // Go's: safe inside HTML.
  (json) => json.replace(/[<>&]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`),
]

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]))
}
