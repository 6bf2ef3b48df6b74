import { type Command, Option } from 'commander'
import type { SignatureOptions } from '../../mock/index.ts'
import { headerName } from './values.ts'

/** Creates an option with a fixed list of values. */
export const choice = (
  flags: string,
  description: string,
  values: readonly string[],
  defaultValue?: string,
): Option => new Option(flags, description).choices(values).default(defaultValue)

export type Dialect = 'service' | 'hosted' | 'organization'

/** Creates `--dialect`, for commands that write payloads. */
export const dialectOption = (description: string, defaultValue?: Dialect): Option =>
  choice('--dialect <name>', description, ['service', 'hosted', 'organization'], defaultValue)

/** Values of the options that say how a sender writes a signature. */
export type WrittenSignature = { [name in keyof SignatureOptions]: NonNullable<SignatureOptions[name]> }

/** Adds the options that say how a sender writes a signature. They have no defaults, because the dialect sets them. */
export const addWrittenSignatureOptions = (command: Command): Command =>
  command
    .option('--signature-header <name>', 'header or form field for signatures', headerName)
    .addOption(choice('--encoding <name>', 'encoding of signatures', ['hex', 'base64']))
    .option('--prefix <text>', 'text before signatures, for example sha256=')
    .addOption(choice('--signature-in <place>', 'where a form carries its signature', ['header', 'field']))
    .option('--percent-encoded', 'percent-encode signatures in the header')
    .addOption(choice('--form-payload <how>', 'how a form encodes its payload', ['encoded', 'plain']))
