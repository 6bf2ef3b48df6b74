import { toBinary } from '../../shared/bytes.ts'
import { trim } from '../text.ts'
import type { Finding } from '../types.ts'
import { NAMES } from './copied.ts'
import type { KeyRow, KeyTable } from './key-table.ts'

const UNSET = 'for a value that is not set'

/** Words in place of a key. No description contains its word, because it is the sender's key. */
const WORDS: readonly [word: string, description: string][] = [
  ['undefined', `the word that JavaScript writes ${UNSET}`],
  ['null', `the word that JavaScript and Java write ${UNSET}`],
  ['None', `the word that Python writes ${UNSET}`],
  ['nil', `the word that Ruby and Go write ${UNSET}`],
  ['<nil>', `the text that Go writes ${UNSET}`],
  ['%!s(<nil>)', `the text that Go formats ${UNSET}`],
  ['NULL', `the word that databases and C write ${UNSET}`],
  ['[object Object]', 'the text that JavaScript writes for an object'],
  ['[object Promise]', 'the text that JavaScript writes for a promise that was not awaited'],
  ['[object ArrayBuffer]', 'the text that JavaScript writes for an ArrayBuffer'],
  ['System.Byte[]', 'the text that .NET writes for an array of bytes'],
  ['Array', 'the word that PHP writes for an array'],
  ['NaN', 'the word that JavaScript writes for an invalid number'],
  ['false', 'the word for a boolean value'],
  ['true', 'the word for a boolean value'],
  ['False', 'the word that Python writes for a boolean value'],
  ['1', 'the digit that PHP writes for a boolean value'],
  ['""', 'two double quotes'],
  ["''", 'two single quotes'],
]

const WRITERS: readonly ((name: string) => string)[] = [
  (name) => `\${${name}}`,
  (name) => `$${name}`,
  (name) => `%${name}%`,
  (name) => `{{${name}}}`,
  (name) => `{{ ${name} }}`,
  (name) => `<${name}>`,
  (name) => `process.env.${name}`,
]

/** Keys from templates and tutorials. */
const EXAMPLES = [
  'changeme',
  'change-me',
  'secret',
  'mysecret',
  'my-secret',
  'supersecret',
  'your-secret-key',
  'your_secret_key',
  'your-secret',
  'YOUR_SECRET',
  'YOUR_SECRET_KEY',
  'YOUR_SIGNATURE_KEY',
  '<YOUR_KEY>',
  '<your-signature-key>',
  'password',
  'test',
  'key',
]

/** Texts that programs and templates put in place of a key that is not set. */
export const PLACEHOLDERS: KeyTable = [
  'key_placeholder',
  [
    ...WORDS.map(
      ([word, description], index): KeyRow => [description, () => word, index === 0 ? 'common' : undefined],
    ),
    ...NAMES.slice(0, 2).flatMap((name) =>
      WRITERS.map(
        (write): KeyRow => ['the placeholder of a variable, which nothing replaced', () => write(name)],
      ),
    ),
    ...EXAMPLES.map((text): KeyRow => ['an example of a key from a template or a tutorial', () => text]),
    ...NAMES.map((name): KeyRow => ['the name of a variable in place of its value', () => name]),
  ],
]

const IS_WORD =
  /^(?:undefined|null|none|nil|nan|\[object [A-Za-z]{1,20}\]|<nil>|%!s\(<nil>\)|System\.Byte\[\]|""|'')$/i

/** Texts around the name of a variable that a shell, a template or a CI system should have replaced. */
const IS_VARIABLE =
  /^(?:\$\{\{?\s?([^{}]{1,60}?)\s?\}\}?|\$([A-Z_]{1,60})|%([A-Z_]{1,60})%|\{\{\s?([^{}]{1,60}?)\s?\}\}|process\.env\.(\w{1,60}))$/

/** Words of names and examples. A text with any other word may be a real key. */
const NAME_WORDS = new Set(
  'env secret secrets var vars value values config settings geohook webhook hook signature signing sign shared hmac service app api my your the key token name'.split(
    ' ',
  ),
)
const EXAMPLE_WORDS = new Set([
  ...NAME_WORDS,
  ...'here change changeme me it insert enter replace this'.split(' '),
])

/** Returns true if a text, such as `WEBHOOK_SECRET` or `webhookSecret`, consists of these words only. */
const isMadeOf = (text: string, words: ReadonlySet<string>): boolean =>
  text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .split(/[ ._-]/)
    .every((word) => words.has(word.toLowerCase()))

/** Returns true for an example, such as `<your-key>`, `my_secret` or `changeme`. */
function isExample(text: string): boolean {
  const [, inner] = /^<([^<>]{2,60})>$/.exec(text) ?? []
  return /^(?:your|my|change)/i.test(inner ?? text) && isMadeOf(inner ?? text, EXAMPLE_WORDS)
}

/** Finds a key on this side that is not a key. The evidence does not repeat it. */
export function findPlaceholder(keys: readonly Uint8Array[]): Finding | undefined {
  for (const key of keys) {
    const text = key.length < 200 ? toBinary(trim(key)) : ''
    const subject = keys.length > 1 ? 'One of the keys on this side is' : 'The key on this side is'
    const variable = IS_VARIABLE.exec(text)?.slice(1).find(Boolean)
    const description = IS_WORD.test(text)
      ? 'a word that programs write when a variable is not set'
      : isExample(text)
        ? 'an example from a template or a tutorial'
        : /^(?:[A-Z]:)?[\\/][\w .\\/-]{1,100}\.(?:txt|key|pem|env|secret)$/i.test(text)
          ? 'the path of a file in place of its content'
          : variable !== undefined && isMadeOf(variable, NAME_WORDS)
            ? 'the placeholder of a variable, which nothing replaced'
            : undefined
    if (description) return { cause: 'key_placeholder', evidence: `${subject} ${description}.` }
  }
  return undefined
}
