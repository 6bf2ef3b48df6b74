import { isUtf8 } from 'node:buffer'
import type { Command } from 'commander'
import { type CliError, usageError } from '../errors.ts'
import type { Io } from '../terminal/io.ts'
import { addSecretOptions, readSecrets, type SecretKind, type SecretOptions, toText } from './secrets.ts'

/** Values of `--key`, `--key-env` and `--key-file`. */
export type KeyOptions = SecretOptions<'key'>

const KEY = {
  option: 'key',
  noun: 'signature key',
  variable: 'SIGNATURE_KEY',
  several: true,
} as const satisfies SecretKind

/** Adds `--key`, `--key-env` and `--key-file`. */
export const addKeyOptions = (command: Command, { several = false }: { several?: boolean } = {}): Command =>
  addSecretOptions(command, { ...KEY, several })

/** Adds `--key`, `--key-env` and `--key-file` for a webhook's new key. `SIGNATURE_KEY` is not their default. */
export const addNewKeyOptions = (command: Command): Command =>
  addSecretOptions(command, { option: 'key', noun: 'new signature key' })

/** Returns true if an option gives a key. */
export const hasKeyOption = ({ key, keyEnv, keyFile }: KeyOptions): boolean =>
  [key, keyEnv, keyFile].some((values) => values !== undefined)

/**
 * Reads the keys, which the user gives newest first. Returns an empty list if no option and no variable has a key.
 *
 * @throws {CliError} exit code 2 for an invalid key
 */
export async function readKeys(io: Io, options: KeyOptions): Promise<string[]> {
  return (await readSecrets(io, KEY, options)).map((secret) => toText(secret, 'key'))
}

/** @throws {CliError} exit code 2 if the key is missing or invalid */
export async function requireKeys(io: Io, options: KeyOptions): Promise<string[]> {
  const keys = await readKeys(io, options)
  if (keys.length === 0) throw missingKey()
  return keys
}

/** @throws {CliError} exit code 2 unless there is exactly one key, and it is valid */
export async function requireKey(io: Io, options: KeyOptions): Promise<string> {
  const [key, ...rest] = await requireKeys(io, options)
  if (key === undefined || rest.length > 0)
    throw usageError('this command takes only one key', 'Give the newest key.')
  return key
}

/**
 * Reads keys without trimming or validating them, because `explain` diagnoses invalid keys.
 *
 * @param isOptional whether the list may be empty
 */
export async function requireUncheckedKeys(
  io: Io,
  options: KeyOptions,
  isOptional = false,
): Promise<(string | Buffer)[]> {
  const secrets = await readSecrets(io, KEY, options)
  if (secrets.length === 0 && !isOptional) throw missingKey()
  // Decodes UTF-8, because explain() detects white space only in strings.
  return secrets.map(({ bytes }) => (isUtf8(bytes) ? bytes.toString() : bytes))
}

const missingKey = (): CliError =>
  usageError(
    'the signature key is missing',
    `Set ${KEY.variable}, or give --key-file or --key-env. "geohook key" generates a key.`,
    'key_missing',
  )
