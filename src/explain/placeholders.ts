import { toBinary, trim } from './bytes.ts'
import type { Finding, Hypothesis } from './types.ts'

/** Names that variables and settings with a signature key often have, likely ones first. */
export const NAMES: readonly string[] = [
  ...['SIGNATURE_KEY', 'WEBHOOK_SECRET', 'GEOHOOK_SIGNATURE_KEY', 'SECRET', 'signatureKey'],
  ...['WEBHOOK_SIGNATURE_KEY', 'SECRET_KEY', 'HOOK_SECRET', 'KEY', 'secret', 'key'],
]

const VARIABLE = 'the placeholder of a variable, which nothing replaced'
const WORD = 'a word that programs write when a variable is not set'
const EXAMPLE = 'an example of a key from a template or a tutorial'

/** Texts in place of a key, likely ones first. No description contains its text, because that is the sender's key. */
const TEXTS: readonly (readonly [description: string, texts: readonly string[]])[] = [
  [WORD, ['undefined', 'null', 'None', 'nil', '<nil>', 'NULL', 'NaN', 'false', 'true', 'False', '1']],
  [
    'a text that programs write for an object or array',
    ['[object Object]', '[object Promise]', '[object ArrayBuffer]', 'System.Byte[]', 'Array'],
  ],
  ['two quotes', ['""', "''"]],
  [
    VARIABLE,
    NAMES.slice(0, 2).flatMap((name) => [
      ...[`\${${name}}`, `$${name}`, `%${name}%`, `{{${name}}}`, `{{ ${name} }}`, `<${name}>`],
      `process.env.${name}`,
    ]),
  ],
  [
    EXAMPLE,
    [
      ...['changeme', 'change-me', 'secret', 'mysecret', 'my-secret', 'supersecret', 'your-secret-key'],
      ...['your_secret_key', 'your-secret', 'YOUR_SECRET', 'YOUR_SECRET_KEY', 'YOUR_SIGNATURE_KEY'],
      ...['<YOUR_KEY>', '<your-signature-key>', 'password', 'test', 'key'],
    ],
  ],
  ['the name of a variable in place of its value', NAMES.slice(0, 5)],
]

/** Texts that programs and templates put in place of a key that is not set. */
export const PLACEHOLDERS: readonly Hypothesis[] = TEXTS.flatMap(([description, texts]) =>
  texts.map((text) => ['key_placeholder', text, description] as const),
)

const IS_WORD = /^(?:undefined|null|none|nil|nan|\[object [A-Za-z]{1,20}\]|<nil>|System\.Byte\[\]|""|'')$/i

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

function describePlaceholder(text: string): string | undefined {
  if (IS_WORD.test(text)) return WORD
  const [, inner = text] = /^<([^<>]{2,60})>$/.exec(text) ?? []
  if (/^(?:your|my|change)/i.test(inner) && isMadeOf(inner, EXAMPLE_WORDS)) return EXAMPLE
  if (/^(?:[A-Z]:)?[\\/][\w .\\/-]{1,100}\.(?:txt|key|pem|env|secret)$/i.test(text))
    return 'the path of a file in place of its content'
  const variable = IS_VARIABLE.exec(text)?.slice(1).find(Boolean)
  return variable !== undefined && isMadeOf(variable, NAME_WORDS) ? VARIABLE : undefined
}

/** Finds a key on this side that is not a key. The evidence does not repeat it. */
export function findPlaceholder(keys: readonly Uint8Array[]): Finding | undefined {
  const subject = keys.length > 1 ? 'One of the keys on this side is' : 'The key on this side is'
  for (const key of keys) {
    const description = describePlaceholder(key.length < 200 ? toBinary(trim(key)) : '')
    if (description) return { cause: 'key_placeholder', evidence: `${subject} ${description}.` }
  }
  return undefined
}
