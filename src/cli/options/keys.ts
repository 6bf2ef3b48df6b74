import { isUtf8 } from 'node:buffer'
import type { Command } from 'commander'
import { type CliError, usageError } from '../errors.ts'
import { addSecretOptions, readSecrets, type Secret, toText } from './secrets.ts'

/** Values of `--key`, `--key-env` and `--key-file`. */
export interface KeyOptions {
  key?: string[]
  keyEnv?: string[]
  keyFile?: string[]
}

/** The environment variable that is read if no option gives a key. */
const VARIABLE = 'SIGNATURE_KEY'

/** Adds `--key`, `--key-env` and `--key-file`. */
export const addKeyOptions = (command: Command, { several = false }: { several?: boolean } = {}): Command =>
  addSecretOptions(command, { option: 'key', noun: 'signature key', variable: VARIABLE, several })

/** Adds `--key`, `--key-env` and `--key-file` for a webhook's new key. `SIGNATURE_KEY` is not their default. */
export const addNewKeyOptions = (command: Command): Command =>
  addSecretOptions(command, { option: 'key', noun: 'new signature key', several: false })

/** Returns true if an option gives a key. */
export const hasKeyOption = ({ key, keyEnv, keyFile }: KeyOptions): boolean =>
  [key, keyEnv, keyFile].some((values) => values !== undefined)

/**
 * Reads the keys, which the user gives newest first. Returns an empty list if no option and no variable has a key.
 *
 * @throws {CliError} exit code 2 for an invalid key
 */
export async function readKeys(options: KeyOptions): Promise<string[]> {
  return (await read(options)).map((secret) => toText(secret, 'key'))
}

/** @throws {CliError} exit code 2 if the key is missing or invalid */
export async function requireKeys(options: KeyOptions): Promise<string[]> {
  const keys = await readKeys(options)
  if (keys.length === 0) throw missingKey()
  return keys
}

/** @throws {CliError} exit code 2 unless there is exactly one key, and it is valid */
export async function requireKey(options: KeyOptions): Promise<string> {
  const [key, ...rest] = await requireKeys(options)
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
  options: KeyOptions,
  isOptional = false,
): Promise<(string | Buffer)[]> {
  const secrets = await read(options)
  if (secrets.length === 0 && !isOptional) throw missingKey()
  // Decodes UTF-8, because explain() detects white space only in strings.
  return secrets.map(({ bytes }) => (isUtf8(bytes) ? bytes.toString() : bytes))
}

const read = ({ key, keyEnv, keyFile }: KeyOptions): Promise<Secret[]> =>
  readSecrets({
    option: 'key',
    texts: key,
    variables: keyEnv,
    files: keyFile,
    defaultVariable: VARIABLE,
    several: true,
  })

const missingKey = (): CliError =>
  usageError(
    'the signature key is missing',
    `Set ${VARIABLE}, or give --key-file or --key-env. "geohook key" generates a key.`,
    'key_missing',
  )
