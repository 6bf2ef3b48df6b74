import { toBinary, trim } from './bytes.ts'
import type { Finding } from './types.ts'

/** Names that variables and settings with a signature key often have, likely ones first. */
export const NAMES: readonly string[] = [
  ...['SIGNATURE_KEY', 'WEBHOOK_SECRET', 'GEOHOOK_SIGNATURE_KEY', 'SECRET', 'signatureKey'],
  ...['WEBHOOK_SIGNATURE_KEY', 'SECRET_KEY', 'HOOK_SECRET', 'KEY', 'secret', 'key'],
]

/** Texts that programs and templates put in place of a key that is not set, likely ones first. */
export const PLACEHOLDERS: readonly string[] = [
  ...['undefined', 'null', 'None', 'nil', '<nil>', 'NULL', '[object Object]', '[object Promise]', '""', "''"],
  ...['[object ArrayBuffer]', 'System.Byte[]', 'Array', 'NaN', 'false', 'true', 'False', '1'],
  ...NAMES.slice(0, 2).flatMap((name) => [
    ...[`\${${name}}`, `$${name}`, `%${name}%`, `{{${name}}}`, `{{ ${name} }}`, `<${name}>`],
    `process.env.${name}`,
  ]),
  ...['changeme', 'change-me', 'mysecret', 'my-secret', 'supersecret', 'your-secret-key', 'your_secret_key'],
  ...[
    'your-secret',
    'YOUR_SECRET',
    'YOUR_SECRET_KEY',
    'YOUR_SIGNATURE_KEY',
    '<YOUR_KEY>',
    'password',
    'test',
  ],
  ...['<your-signature-key>', ...NAMES.slice(0, 5), 'secret', 'key'],
]

/** Words that programs write for a value that is not set, and names of files. */
const IS_WORD = /^(?:undefined|null|none|nil|nan|\[object [A-Za-z]{1,20}\]|<nil>|System\.Byte\[\]|""|'')$/i
const IS_FILE = /^(?:[A-Z]:)?[\\/][\w .\\/-]{1,100}\.(?:txt|key|pem|env|secret)$/i

/** Texts around the name of a variable that a shell, a template or a CI system should have replaced. */
const IS_VARIABLE =
  /^(?:\$\{\{?\s?([^{}]{1,60}?)\s?\}\}?|\$([A-Z_]{1,60})|%([A-Z_]{1,60})%|\{\{\s?([^{}]{1,60}?)\s?\}\}|process\.env\.(\w{1,60}))$/

/** Words of names and examples. A text with any other word may be a real key. */
const NAME_WORDS =
  'env secret secrets var vars value values config settings geohook webhook hook signature signing sign shared hmac service app api my your the key token name'
const EXAMPLE_WORDS = `${NAME_WORDS} here change changeme me it insert enter replace this`

/** Returns true if a text, such as `WEBHOOK_SECRET` or `webhookSecret`, consists of these words only. */
const isMadeOf = (text: string, words: string): boolean =>
  text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .split(/[ ._-]/)
    .every((word) => words.split(' ').includes(word.toLowerCase()))

function isPlaceholder(text: string): boolean {
  const [, inner = text] = /^<([^<>]{2,60})>$/.exec(text) ?? []
  const variable = IS_VARIABLE.exec(text)?.slice(1).find(Boolean)
  return (
    IS_WORD.test(text) ||
    IS_FILE.test(text) ||
    (/^(?:your|my|change)/i.test(inner) && isMadeOf(inner, EXAMPLE_WORDS)) ||
    (variable !== undefined && isMadeOf(variable, NAME_WORDS))
  )
}

/** Finds a key on this side that is not a key. The evidence does not repeat it. */
export function findPlaceholder(keys: readonly Uint8Array[]): Finding | undefined {
  if (!keys.some((key) => key.length < 200 && isPlaceholder(toBinary(trim(key))))) return undefined
  const subject = keys.length > 1 ? 'One of the keys on this side is' : 'The key on this side is'
  const evidence = `${subject} a text that programs and templates put in place of a key: a word, a variable or a path.`
  return { cause: 'key_placeholder', evidence }
}
