import { isUtf8 } from 'node:buffer'
import type { Command } from 'commander'
import { type CliError, usageError } from '../errors.ts'
import { addSecretOptions, findSecrets, type Secret, toText } from './secrets.ts'

/** Where a command may take its keys from. */
export interface KeyOptions {
  key?: string[]
  keyEnv?: string[]
  keyFile?: string[]
}

/** The environment variable that is read where no option says otherwise. */
const VARIABLE = 'SIGNATURE_KEY'

/** Adds `--key`, `--key-env` and `--key-file`. */
export const addKeyOptions = (command: Command, { several = false }: { several?: boolean } = {}): Command =>
  addSecretOptions(command, { option: 'key', what: 'the signature key', variable: VARIABLE, several })

/** The same for a key that is to be set: it comes from an option or not at all. */
export const addNewKeyOptions = (command: Command): Command =>
  addSecretOptions(command, { option: 'key', what: 'the new signature key', several: false })

/** Whether an option names a key. */
export const namesKey = ({ key, keyEnv, keyFile }: KeyOptions): boolean =>
  [key, keyEnv, keyFile].some((given) => given !== undefined)

/**
 * The keys, newest first; none where neither an option nor the environment has one.
 *
 * @throws {CliError} exit code 2 for a key that cannot be right
 */
export async function readKeys(options: KeyOptions): Promise<string[]> {
  return (await find(options)).map((secret) => toText(secret, 'key'))
}

/** @throws {CliError} exit code 2, also where there is no key at all */
export async function requireKeys(options: KeyOptions): Promise<string[]> {
  const keys = await readKeys(options)
  if (keys.length === 0) throw noKey()
  return keys
}

/** @throws {CliError} exit code 2, also where there are several */
export async function requireKey(options: KeyOptions): Promise<string> {
  const [key, ...rest] = await requireKeys(options)
  if (key === undefined || rest.length > 0)
    throw usageError('only one key is of use here', 'Give the newest one.')
  return key
}

/** The keys as they are, with white space and all: `explain` finds out about that. */
export async function requireRawKeys(options: KeyOptions): Promise<(string | Buffer)[]> {
  const found = await find(options)
  if (found.length === 0) throw noKey()
  // As text where it is text: that one is blank can be seen of text only.
  return found.map(({ bytes }) => (isUtf8(bytes) ? bytes.toString() : bytes))
}

const find = ({ key, keyEnv, keyFile }: KeyOptions): Promise<Secret[]> =>
  findSecrets({ option: 'key', text: key, env: keyEnv, file: keyFile, variable: VARIABLE, several: true })

const noKey = (): CliError =>
  usageError(
    'there is no signature key',
    `Set ${VARIABLE}, or give --key-file or --key-env. "geohook key" makes one.`,
    'key_missing',
  )
