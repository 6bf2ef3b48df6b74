import type { Command } from 'commander'
import { usageError } from '../errors.ts'
import { addSecretOptions, readSecrets, toText } from './secrets.ts'
import { isLoopback } from './values.ts'

/** Values of the options that protect an inspector. */
export interface InspectorTokenOptions {
  token?: string[]
  tokenEnv?: string[]
  tokenFile?: string[]
}

const VARIABLE = 'GEOHOOK_INSPECTOR_TOKEN'

/** Adds `--token`, `--token-env` and `--token-file`. */
export const addInspectorTokenOptions = (command: Command): Command =>
  addSecretOptions(command, {
    option: 'token',
    noun: 'token for the login page',
    detail: 'at least 16 characters',
    variable: VARIABLE,
    several: false,
  })

/**
 * Reads the token. Without one, the inspector answers only requests from this machine.
 *
 * @throws {CliError} exit code 2, also if other machines can reach `host` and there is no token
 */
export async function readInspectorToken(
  { token: texts, tokenEnv: variables, tokenFile: files }: InspectorTokenOptions,
  host: string,
): Promise<string | undefined> {
  const [secret, ...rest] = await readSecrets({
    option: 'token',
    texts,
    variables,
    files,
    defaultVariable: VARIABLE,
    several: false,
  })
  if (rest.length > 0) throw usageError('only one token can be used')
  if (secret) return toText(secret, 'token')
  if (isLoopback(host)) return undefined
  throw usageError(
    'other machines can reach this --host, so the inspector needs a token',
    `Set ${VARIABLE}, or give --token-file. "geohook key" creates one.`,
    'token_missing',
  )
}
