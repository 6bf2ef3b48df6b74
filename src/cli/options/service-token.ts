import type { Command } from 'commander'
import { usageError } from '../errors.ts'
import { addSecretOptions, readSecrets, toText } from './secrets.ts'

/** Values of `--token`, `--token-env` and `--token-file` for a service. */
export interface ServiceTokenOptions {
  token?: string[]
  tokenEnv?: string[]
  tokenFile?: string[]
}

const VARIABLE = 'GEOHOOK_TOKEN'

/** Adds `--token`, `--token-env` and `--token-file`. */
export const addServiceTokenOptions = (command: Command): Command =>
  addSecretOptions(command, {
    option: 'token',
    noun: 'token',
    detail: 'required by some services',
    variable: VARIABLE,
    several: false,
  })

/** Reads the token; undefined without one. @throws {CliError} exit code 2 for an invalid token */
export async function readServiceToken({
  token: texts,
  tokenEnv: variables,
  tokenFile: files,
}: ServiceTokenOptions): Promise<string | undefined> {
  const [secret, ...rest] = await readSecrets({
    option: 'token',
    texts,
    variables,
    files,
    defaultVariable: VARIABLE,
    several: false,
  })
  if (rest.length > 0) throw usageError('only one token can be used')
  return secret && toText(secret, 'token')
}
