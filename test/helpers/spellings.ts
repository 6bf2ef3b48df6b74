/** Spellings in which a sender or a service can write a secret. Texts contain only characters of header values. */
export function spellingsOf(secret: string): Record<string, string> {
  const bytes = Buffer.from(secret)
  const wire = bytes.toString('latin1')
  const encoded = encodeURIComponent(secret)
  const everyByte = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
  const json = JSON.stringify(secret).slice(1, -1)
  const units = Array.from(secret, (unit) => `\\u${hexOf(unit).padStart(4, '0')}`).join('')
  const html = secret.replace(/[&<>"']/g, (unit) => `&${NAMES[unit]};`)
  const latin1 = Buffer.from(secret, 'latin1')
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
  const texts: Record<string, string> = {
    plain: wire,
    bearer: `Bearer ${wire}`,
    prefix: `sha256=${wire}`,
    quoted: `"${wire}"; other`,
    cookie: `session=${wire}; path=/`,
    parameter: `?x-key=${encoded}&v=1`,
    'token parameter': `/hook?token=${encoded}`,
    path: `/hooks/${encoded}/parcels`,
    fragment: `/hook#${encoded}`,
    'user info': `https://user:${encoded}@gis.example.com/`,
    'basic, password': basic(`u:${secret}`),
    'basic, other alignment': basic(`us:${secret}`),
    'basic, third alignment': basic(`use:${secret}`),
    'basic, user name': basic(`${secret}:`),
    'basic in Latin-1': `Basic ${Buffer.concat([Buffer.from('u:'), latin1]).toString('base64')}`,
    base64: bytes.toString('base64'),
    'base64 without padding': bytes.toString('base64').replaceAll('=', ''),
    base64url: bytes.toString('base64url'),
    'base64url of more text': Buffer.from(`{"key":"${secret}"}`).toString('base64url'),
    'base64 percent-encoded': encodeURIComponent(bytes.toString('base64')),
    'base64 in JSON': bytes.toString('base64').replaceAll('/', '\\/').replaceAll('+', '\\u002b'),
    'base64 of Latin-1': latin1.toString('base64'),
    'base64 after a form': bytes.toString('base64').replaceAll('+', ' '),
    hex: bytes.toString('hex'),
    'upper-case hex': bytes.toString('hex').toUpperCase(),
    'hex after 0x': `0x${bytes.toString('hex')}`,
    'hex after sha256=': `sha256=${bytes.toString('hex')}`,
    'hex of Latin-1': latin1.toString('hex'),
    'percent-encoded': encoded,
    'lower-case escapes': encoded.replace(/%../g, (code) => code.toLowerCase()),
    'every byte percent-encoded': everyByte,
    'percent-encoded twice': encodeURIComponent(everyByte),
    'percent-encoded three times': encodeURIComponent(encodeURIComponent(everyByte)),
    'Latin-1 percent-encoded': [...latin1].map((byte) => `%${byte.toString(16)}`).join(''),
    form: new URLSearchParams({ a: secret }).toString(),
    JSON: ascii(json),
    'JSON with escaped slashes': ascii(json.replaceAll('/', '\\/')),
    'JSON with units': units,
    'JSON with upper-case units': units.toUpperCase().replaceAll('\\U', '\\u'),
    'JSON in JSON': ascii(JSON.stringify(ascii(json)).slice(1, -1)),
    'JSON of a URL': ascii(JSON.stringify({ url: `/a?b=${encoded}` })),
    'URL of JSON': encodeURIComponent(units),
    'bytes after backslashes': everyByte.replaceAll('%', '\\x'),
    HTML: Buffer.from(html).toString('latin1'),
    'HTML with decimals': Array.from(secret, (unit) => `&#${unit.codePointAt(0)};`).join(''),
    'HTML with hex': Array.from(secret, (unit) => `&#x${hexOf(unit)};`).join(''),
    'HTML of a URL': `/a?b=1&amp;c=${encoded}`,
    'HTML in JSON': ascii(JSON.stringify(html).slice(1, -1)).replaceAll('&', '\\u0026'),
  }
  return texts
}

const NAMES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }

const hexOf = (unit: string): string => unit.codePointAt(0)?.toString(16) ?? ''

const ascii = (json: string): string =>
  json.replace(/[^ -~]/g, (unit) => `\\u${hexOf(unit).padStart(4, '0')}`)

/**
 * Returns the secrets that occur in the text, or in anything that can be decoded from it: completely, or only their
 * beginning or end. Uses none of geohook's code, so that it can test it.
 */
export function findSecrets(text: string, secrets: readonly string[]): string[] {
  const texts = new Set<string>()
  for (const level of unescapes(text))
    for (const decoded of [level, ...decodings(level)]) texts.add(fold(decoded))
  return secrets.filter((secret) => {
    const parts = [secret, secret.slice(0, 8), secret.slice(-8)]
    const wanted = parts.flatMap((part) => [part, Buffer.from(part).toString('latin1')]).map(fold)
    return [...texts].some((decoded) => wanted.some((part) => decoded.includes(part)))
  })
}

const fold = (text: string): string => text.toLowerCase().replaceAll(' ', '+')

/** Yields the text, and every result of unescaping it up to four times, with all methods in any order. */
function* unescapes(text: string): Generator<string> {
  const seen = new Set([text])
  let last = [text]
  for (let depth = 0; depth < 4; depth++) {
    last = last.flatMap((level) => WAYS.map((way) => way(level))).filter((level) => !seen.has(level))
    for (const level of last) seen.add(level)
  }
  yield* seen
}

const toUnit = (_: string, hex: string): string => String.fromCodePoint(Number.parseInt(hex, 16))
const CHARACTERS = new Map(Object.entries(NAMES).map(([character, name]) => [name, character]))

const WAYS: readonly ((text: string) => string)[] = [
  (text) => text.replace(/%([\da-f]{2})/gi, toUnit),
  (text) =>
    text.replace(
      /\\u([\da-f]{4})|\\x([\da-f]{2})|\\(["/\\])/gi,
      (all, unit, byte, character) => character ?? toUnit(all, unit ?? byte),
    ),
  (text) =>
    text
      .replace(/&#x([\da-f]+);/gi, toUnit)
      .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
      .replace(/&(\w+);/g, (all, name) => CHARACTERS.get(name) ?? all),
]

/** Yields the bytes of everything in base64 or hex, as UTF-8 and as Latin-1. */
function* decodings(text: string): Generator<string> {
  for (const [pattern, encoding, offsets] of [
    [/[\w+/ -]{8,}/g, 'base64', [0, 1, 2, 3]],
    [/[\da-f]{8,}/gi, 'hex', [0, 1]],
  ] as const)
    for (const [run] of text.matchAll(pattern))
      for (const piece of encoding === 'base64' ? [run.replaceAll(' ', '+'), ...run.split(' ')] : [run])
        for (const offset of offsets) {
          const bytes = Buffer.from(piece.slice(offset), encoding)
          yield bytes.toString()
          yield bytes.toString('latin1')
        }
}
