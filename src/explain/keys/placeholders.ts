import { toBinary } from '../../signature/bytes.ts'
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
const IS_EXAMPLE =
  /^(?:<[\w .-]{2,60}>|(?:your|my)[-_ ][\w -]{0,40}(?:key|secret)[\w -]{0,20}|change[-_ ]?(?:me|it))$/i
const IS_VARIABLE =
  /^(?:\$\{\{?[^{}]{1,100}\}\}?|\$[A-Z_][A-Z\d_]{1,100}|%[A-Z_]{1,100}%|\{\{[^{}]{1,100}\}\}|process\.env\.\w{1,100})$/

/** Finds a key on this side that is not a key. The evidence does not repeat it. */
export function findPlaceholder(keys: readonly Uint8Array[]): Finding | undefined {
  for (const key of keys) {
    const text = key.length < 200 ? toBinary(trim(key)) : ''
    const subject = keys.length > 1 ? 'One of the keys on this side is' : 'The key on this side is'
    if (IS_WORD.test(text))
      return {
        cause: 'key_placeholder',
        evidence: `${subject} a word that programs write when a variable is not set.`,
      }
    if (IS_EXAMPLE.test(text))
      return { cause: 'key_placeholder', evidence: `${subject} an example from a template or a tutorial.` }
    if (/^(?:[A-Z]:)?[\\/][\w .\\/-]{1,100}\.(?:txt|key|pem|env|secret)$/i.test(text))
      return { cause: 'key_placeholder', evidence: `${subject} the path of a file in place of its content.` }
    if (IS_VARIABLE.test(text))
      return {
        cause: 'key_placeholder',
        evidence: `${subject} the placeholder of a variable, which nothing replaced.`,
      }
  }
  return undefined
}
