import type { KeyRow, KeyTable } from './key-table.ts'
import { unquote } from './quotes.ts'

/** Names that variables and settings with a signature key often have. */
export const NAMES: readonly string[] = [
  'SIGNATURE_KEY',
  'WEBHOOK_SECRET',
  'GEOHOOK_SIGNATURE_KEY',
  'SECRET',
  'signatureKey',
]

const OTHER_NAMES = ['WEBHOOK_SIGNATURE_KEY', 'SECRET_KEY', 'HOOK_SECRET', 'KEY', 'secret', 'key']

/** The start of a line that sets a variable, in shells, .env files, YAML, JSON, PHP, Ruby and JavaScript. */
const START =
  /^(?:export |set |setx |ENV |const |let |var |\$env:|\$|--?)?["']?[A-Za-z_][\w.-]{0,99}["']? ?(?:=>|:=|[=:])/

/** Returns the value of a line such as `export NAME="value";`, as it is written there. */
function afterName(line: string): string | undefined {
  const start = START.exec(line)?.[0]
  return start === undefined ? undefined : line.slice(start.length).trim()
}

const quotedValue = (line: string): string | undefined => {
  const value = afterName(line)
  return value === undefined ? undefined : unquote(value.replace(/[;,]$/, ''))
}

function* quotedParts(text: string): Generator<string> {
  if (/^[[{]/.test(text)) return // a list of keys
  for (const [, , part] of [...text.slice(0, 1000).matchAll(/(["'`])([^"'`]+)\1/g)].slice(0, 5))
    if (part) yield part
}

/** Returns the text before a comment, as in `value # production`. */
function withoutComment(text: string): string {
  const end = text.search(/\s(?:#|;|\/\/)/)
  return end < 0 ? text : text.slice(0, end).trim()
}

/** Text that was copied together with a key. */
export const COPIED: KeyTable = [
  'key_copied',
  [
    ['the key without the name before it', quotedValue, 'common'],
    ['the key without the name before it, in its quotes', afterName],
    ['the quoted part of the key', (key) => [...quotedParts(key)]],
    ['the key without the comment after it', withoutComment],
    [
      'the key without the name before it and the comment after it',
      (key) => quotedValue(withoutComment(key)),
    ],
    ['the key without the punctuation at its end', (key) => key.replace(/[;,.:]$/, '')],
    [
      'the key without the scheme before it',
      (key) => key.replace(/^(?:bearer|basic|token|hmac|hmac-sha256|sha256|shared|secret|key)[ :=]\s?/i, ''),
    ],
    ...[';', ',', '.', ':'].map((mark): KeyRow => [`the key with "${mark}" after it`, (key) => key + mark]),
    ...['Bearer ', 'sha256='].map(
      (text): KeyRow => [`the key with "${text}" before it`, (key) => text + key],
    ),
    ...[...NAMES, ...OTHER_NAMES].map(
      (name): KeyRow => [`the key with ${name}= before it`, (key) => `${name}=${key}`],
    ),
    ...NAMES.flatMap((name): KeyRow[] => [
      [`the key in double quotes with ${name}= before it`, (key) => `${name}="${key}"`],
      [`the key with ${name}= before it and a line feed after it`, (key) => `${name}=${key}\n`],
    ]),
    ...NAMES.slice(0, 2).flatMap((name): KeyRow[] => [
      [`the key with the name ${name} and a colon before it`, (key) => `${name}: ${key}`],
      [`the key in single quotes with ${name}= before it`, (key) => `${name}='${key}'`],
      [`the key with "export ${name}=" before it`, (key) => `export ${name}=${key}`],
      [`the key in double quotes with "export ${name}=" before it`, (key) => `export ${name}="${key}"`],
    ]),
  ],
]
