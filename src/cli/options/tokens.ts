import type { Command } from 'commander'
import { usageError } from '../errors.ts'
import type { Io } from '../terminal/io.ts'
import { addSecretOptions, readSecret, type SecretKind, type SecretOptions, toText } from './secrets.ts'
import { isLoopback } from './values.ts'

/** Values of `--token`, `--token-env` and `--token-file`. */
export type TokenOptions = SecretOptions<'token'>

const SERVICE: SecretKind = {
  option: 'token',
  noun: 'token',
  detail: 'required by some services',
  variable: 'GEOHOOK_TOKEN',
}

const INSPECTOR: SecretKind = {
  option: 'token',
  noun: 'token for the login page',
  detail: 'at least 16 characters',
  variable: 'GEOHOOK_INSPECTOR_TOKEN',
}

/** Adds the options for the token of a service. */
export const addServiceTokenOptions = (command: Command): Command => addSecretOptions(command, SERVICE)

/** Adds the options for the token of an inspector. */
export const addInspectorTokenOptions = (command: Command): Command => addSecretOptions(command, INSPECTOR)

/** Reads the token of a service; undefined without one. @throws {CliError} exit code 2 for an invalid token */
export async function readServiceToken(io: Io, options: TokenOptions): Promise<string | undefined> {
  const secret = await readSecret(io, SERVICE, options)
  return secret && toText(secret, 'token')
}

/**
 * Reads the token of an inspector. Without one, it answers only requests from this machine.
 *
 * @throws {CliError} exit code 2, also if other machines can reach `host` and there is no token
 */
export async function readInspectorToken(
  io: Io,
  options: TokenOptions,
  host: string,
): Promise<string | undefined> {
  const secret = await readSecret(io, INSPECTOR, options)
  if (secret) return toText(secret, 'token')
  if (isLoopback(host)) return undefined
  throw usageError(
    'other machines can reach this --host, so the inspector needs a token',
    `Set ${INSPECTOR.variable}, or give --token-file. "geohook key" creates one.`,
    'token_missing',
  )
}
