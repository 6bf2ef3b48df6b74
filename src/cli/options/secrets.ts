import { isUtf8 } from 'node:buffer'
import { isLoopback } from '../../shared/loopback.ts'
import { type CliError, usageError } from '../errors.ts'
import { reasonOf } from '../io/files.ts'
import type { Io } from '../terminal/io.ts'
import type { CliCommand } from './command.ts'
import { collect } from './values.ts'

/** A secret and its source. Error messages name the source and never contain the secret. */
export interface Secret {
  from: string
  bytes: Buffer
}

/** A kind of secret: the names of its options, and the variable that is read without them. */
export interface SecretKind {
  /** `key` for `--key`, `--key-env` and `--key-file`. */
  option: 'key' | 'token' | 'store' | 'password' | 'client-secret' | 'health-token'
  noun: string
  detail?: string
  variable?: string
  /** True if commands accept more than one. Default: false. */
  several?: boolean
  /** True if there is no option for the secret itself, which would stay in the shell history. Default: false. */
  noText?: boolean
}

export type SecretOptions<Name extends string> = { [name in Name | `${Name}Env` | `${Name}File`]?: string[] }

/** Returns a function that adds `--<option>`, `--<option>-env` and `--<option>-file`. */
export const addSecretOptions =
  ({ option, noun, detail, variable, several, noText }: SecretKind) =>
  (command: CliCommand): unknown => {
    const repeat = several ? '; repeat it for older keys' : ''
    const description = detail ? `${noun}: ${detail}` : noun
    const fallback = variable ? ` (default: ${variable})` : ''
    const file = `file that contains the ${noun}; a final line break is ignored${repeat}`
    if (!noText)
      command.option(`--${option} <text>`, `${description}; stays in your shell history${repeat}`, collect)
    return command
      .option(`--${option}-env <name>`, `environment variable that contains the ${noun}${fallback}`, collect)
      .option(`--${option}-file <path>`, file, collect)
  }

/**
 * Reads secrets, and hides them in all later output of the command. Does not hide the address of a store: the reader
 * of the address hides its password.
 *
 * @throws {CliError} exit code 2 for mixed options, an unreadable file, JSON in place of a key, or a variable that is
 *   not set
 */
async function readSecrets(
  io: Io,
  { option, variable, several }: SecretKind,
  options: object,
): Promise<Secret[]> {
  const given = options as Readonly<Record<string, string[] | undefined>>
  const name = option.replace(/-./, ([, letter = '']) => letter.toUpperCase())
  const [texts, variables, files] = [given[name], given[`${name}Env`], given[`${name}File`]]
  if ([texts, variables, files].filter((values) => values !== undefined).length > 1)
    throw usageError(
      `--${option}, --${option}-env and --${option}-file cannot be mixed`,
      several ? 'Use one of these options for all of them, newest first.' : 'Use one of them.',
    )
  const fallback = variable !== undefined && io.host.env[variable] !== undefined ? [variable] : []
  const secrets =
    texts?.map((text) => ({ from: `--${option}`, bytes: Buffer.from(text) })) ??
    (files && (await Promise.all(files.map((path) => fromFile(io, path, option))))) ??
    (variables ?? fallback).map((name) => fromEnvironment(io, name, option))
  if (option === 'store') return secrets
  for (const { bytes } of secrets) {
    io.keepSecret(bytes)
    if (isUtf8(bytes)) io.keepSecret(bytes.toString().trim())
  }
  return secrets
}

/** Reads a secret; undefined without one. @throws {CliError} exit code 2, also for several */
export async function readSecret(io: Io, kind: SecretKind, options: object): Promise<Secret | undefined> {
  const [secret, ...rest] = await readSecrets(io, kind, options)
  if (rest.length > 0) throw usageError(`only one ${kind.option} can be used`)
  return secret
}

/** Reads a variable. The error does not quote its name, because the user may have typed the secret instead. */
function fromEnvironment(io: Io, name: string, option: string): Secret {
  const text = io.host.env[name]
  // A name such as `constructor` is that of an inherited member.
  if (typeof text !== 'string') {
    throw usageError(
      `the environment variable of --${option}-env is not set`,
      `Give the name of the variable, not the ${option}. Shell variables must be exported.`,
      `${option}_missing`,
    )
  }
  return { from: `the environment variable ${name}`, bytes: Buffer.from(text) }
}

/** Reads a file. The errors do not quote its path, because the user may have typed the secret instead. */
async function fromFile(io: Io, path: string, option: string): Promise<Secret> {
  const bytes = await io.readBytes(path).catch((error: unknown) => {
    throw usageError(
      `cannot read the file of --${option}-file: ${reasonOf(error)}`,
      `Give the path of the file, not the ${option}.`,
      `${option}_missing`,
    )
  })
  if (option === 'key' && /^\s*[{[]/.test(bytes.toString()))
    throw usageError(
      `the file of --${option}-file contains JSON, not a key`,
      'Give a file with one key as plain text. Keyrings are for receivers, "geohook rotate" and the file of webhooks.',
      'key_invalid',
    )
  return { from: path, bytes: Buffer.from(bytes.toString('latin1').replace(/\r?\n$/, ''), 'latin1') }
}

/**
 * Decodes a secret.
 *
 * @throws {CliError} exit code 2 if it is empty, all zero bytes, not UTF-8, or has white space around it
 */
export function toText({ from, bytes }: Secret, option: string): string {
  const invalid = (problem: string, hint: string): CliError =>
    usageError(`the ${option} in ${from} ${problem}`, hint, `${option}_invalid`)
  if (!isUtf8(bytes)) throw invalid('is not UTF-8 text', 'Check that it is the right file or variable.')
  const text = bytes.toString()
  const hint = 'Check the variable or file: it was probably never filled.'
  if (text.trim() === '') throw invalid('is empty', hint)
  if (/^\0+$/.test(text)) throw invalid('is all zero bytes', hint)
  if (text !== text.trim())
    throw invalid('has white space around it', 'Remove it, also where the text was copied to.')
  return text
}

export type KeyOptions = SecretOptions<'key'>

const KEY: SecretKind = { option: 'key', noun: 'signature key', variable: 'SIGNATURE_KEY' }
const KEY_LIST: SecretKind = { ...KEY, several: true }
/** The key that a webhook gets, or keeps if the service does not show it. `SIGNATURE_KEY` is not its default. */
const NEW_KEY: SecretKind = { option: 'key', noun: 'signature key of the webhook' }

type AddOptions = (command: CliCommand) => unknown

export const addKeyOptions: AddOptions = addSecretOptions(KEY)
export const addKeyListOptions: AddOptions = addSecretOptions(KEY_LIST)
export const addNewKeyOptions: AddOptions = (command) =>
  command.with(addSecretOptions(NEW_KEY)).option('--no-key', 'the webhook has no key')

export const hasKeyOption = ({ key, keyEnv, keyFile }: KeyOptions): boolean =>
  (key ?? keyEnv ?? keyFile) !== undefined

/**
 * Reads the keys, which the user gives newest first. Returns an empty list if no option and no variable has a key.
 *
 * @throws {CliError} exit code 2 for an invalid key
 */
export async function readKeys(io: Io, options: KeyOptions): Promise<string[]> {
  return (await readSecrets(io, KEY_LIST, options)).map((secret) => toText(secret, 'key'))
}

/** @throws {CliError} exit code 2 if the key is missing or invalid */
export async function requireKeys(io: Io, options: KeyOptions): Promise<string[]> {
  const keys = await readKeys(io, options)
  if (keys.length === 0) throw missingKey()
  return keys
}

export interface NewKeyOptions extends Omit<KeyOptions, 'key'> {
  /** False with `--no-key`. */
  key?: string[] | false
}

/**
 * Reads the key of a webhook. Returns undefined without an option, and an empty text with `--no-key`.
 *
 * @throws {CliError} exit code 2 for an invalid key
 */
export async function readNewKey(io: Io, { key, ...others }: NewKeyOptions): Promise<string | undefined> {
  if (key === false && hasKeyOption(others))
    throw usageError('--no-key and the other key options cannot be mixed')
  const options = key ? { ...others, key } : others
  return hasKeyOption(options) ? requireKey(io, options) : key === false ? '' : undefined
}

/** @throws {CliError} exit code 2 unless there is exactly one key, and it is valid */
export async function requireKey(io: Io, options: KeyOptions): Promise<string> {
  const [key, ...rest] = await requireKeys(io, options)
  if (key === undefined || rest.length > 0)
    throw usageError('this command takes only one key', 'Give the newest key.')
  return key
}

/** Reads keys without trimming or validating them, because `explain` diagnoses invalid keys. */
export async function readUncheckedKeys(
  io: Io,
  options: KeyOptions,
  isOptional: boolean,
): Promise<(string | Buffer)[]> {
  const secrets = await readSecrets(io, KEY_LIST, options)
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

export type TokenOptions = SecretOptions<'token'>

const SERVICE_TOKEN: SecretKind = {
  option: 'token',
  noun: 'token',
  detail: 'required by some services',
  variable: 'GEOHOOK_TOKEN',
}
const INSPECTOR_TOKEN: SecretKind = {
  option: 'token',
  noun: 'token for the login page',
  detail: 'at least 16 characters',
  variable: 'GEOHOOK_INSPECTOR_TOKEN',
}

export const addServiceTokenOptions: AddOptions = addSecretOptions(SERVICE_TOKEN)
export const addInspectorTokenOptions: AddOptions = addSecretOptions(INSPECTOR_TOKEN)

/** Reads the token of a service; undefined without one. @throws {CliError} exit code 2 for an invalid token */
export async function readServiceToken(io: Io, options: TokenOptions): Promise<string | undefined> {
  const secret = await readSecret(io, SERVICE_TOKEN, options)
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
  const secret = await readSecret(io, INSPECTOR_TOKEN, options)
  if (secret) return toText(secret, 'token')
  if (isLoopback(host)) return undefined
  throw usageError(
    'other machines can reach this --host, so the inspector needs a token',
    `Set ${INSPECTOR_TOKEN.variable}, or give --token-file. "geohook key" creates one.`,
    'token_missing',
  )
}
