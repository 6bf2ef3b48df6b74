import type { Command } from 'commander'
import { type CliError, usageError } from '../errors.ts'
import { readBytes, reasonOf } from '../io/files.ts'
import { collect } from './values.ts'

/** A secret and where it came from, for messages: a message never holds the secret. */
export interface Secret {
  from: string
  bytes: Buffer
}

/** Where a secret may come from: options of one kind, else the variable. */
export interface SecretSource {
  /** `key` for `--key`, `--key-env` and `--key-file`. */
  option: string
  text: readonly string[] | undefined
  env: readonly string[] | undefined
  file: readonly string[] | undefined
  variable: string
  /** Whether more than one is of use. */
  several: boolean
}

/** Adds the three options of a secret. */
export function addSecretOptions(
  command: Command,
  {
    option,
    what,
    variable,
    several,
  }: { option: string; what: string; variable?: string | undefined; several: boolean },
): Command {
  const again = several ? '; repeat it for older ones' : ''
  const otherwise = variable ? ` (default: ${variable})` : ''
  return command
    .option(`--${option} <text>`, `${what}; the history of your shell keeps it${again}`, collect)
    .option(`--${option}-env <name>`, `the environment variable that holds it${otherwise}`, collect)
    .option(
      `--${option}-file <path>`,
      `the file that holds it; a line end at its end is cut${again}`,
      collect,
    )
}

/** @throws {CliError} exit code 2 for several kinds of options, an unreadable file or a variable that is not set */
export async function findSecrets(source: SecretSource): Promise<Secret[]> {
  const { option, text, env, file, variable, several } = source
  if ([text, env, file].filter((given) => given !== undefined).length > 1) {
    throw usageError(
      `--${option}, --${option}-env and --${option}-file cannot be mixed`,
      several ? 'Give all in one way, the newest first.' : 'Give one of them.',
    )
  }
  if (text) return text.map((one) => ({ from: `--${option}`, bytes: Buffer.from(one) }))
  if (env) return env.map((name) => fromEnvironment(name, option))
  if (file) return Promise.all(file.map((path) => fromFile(path, option)))
  return process.env[variable] === undefined ? [] : [fromEnvironment(variable, option)]
}

function fromEnvironment(name: string, option: string): Secret {
  const text = process.env[name]
  // The name is not told: somebody may have given the secret in its place.
  if (text === undefined) {
    throw usageError(
      `the environment variable of --${option}-env is not set`,
      `Give its name, not the ${option}. A variable of a shell must be exported.`,
      `${option}_missing`,
    )
  }
  return { from: `the environment variable ${name}`, bytes: Buffer.from(text) }
}

async function fromFile(path: string, option: string): Promise<Secret> {
  let binary: string
  try {
    binary = (await readBytes(path)).toString('latin1')
  } catch (error) {
    // Nor is the path, for the same reason.
    throw usageError(
      `cannot read the file of --${option}-file: ${reasonOf(error)}`,
      `Give its path, not the ${option}.`,
      `${option}_missing`,
    )
  }
  return { from: path, bytes: Buffer.from(binary.replace(/\r?\n$/, ''), 'latin1') }
}

/** The text of a secret. @throws {CliError} exit code 2 for one that is empty, all zero bytes, not UTF-8, or has white space around it */
export function toText({ from, bytes }: Secret, option: string): string {
  const wrong = (what: string, hint: string): CliError =>
    usageError(`the ${option} in ${from} ${what}`, hint, `${option}_invalid`)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw wrong('is not text in UTF-8', 'Look whether it is the right one.')
  }
  if (text.trim() === '') throw wrong('is empty', 'Look for a variable or a file that was never filled.')
  if (/^\0+$/.test(text)) throw wrong('is all zero bytes', 'Look for a file that was never filled.')
  if (text !== text.trim())
    throw wrong('has white space around it', 'Remove it, here and where it was copied to.')
  return text
}
