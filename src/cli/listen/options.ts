import { type Command, Option } from 'commander'
import type { SignatureEncoding } from '../../index.ts'
import { usageError } from '../errors.ts'
import { addKeyOptions, type KeyOptions } from '../options/keys.ts'
import { acceptedEncodingOption, type ProfileName, profileOption } from '../options/signature.ts'
import { byteSize, headerName, httpUrl, port, wholeNumber } from '../options/values.ts'

export interface ListenOptions extends KeyOptions {
  port: number
  host: string
  path?: string
  profile: ProfileName
  signatureHeader?: string
  encoding: SignatureEncoding
  limit: number
  unsigned: 'reject' | 'accept'
  save?: string
  forwardTo?: URL
  forwardRefused?: true
  count?: number
  once?: true
  json?: true
}

export function addListenOptions(command: Command): void {
  command
    .option('--port <n>', 'the port; 0 takes a free one', port, 3000)
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--path <path>', 'answer other paths with 404 (default: every path is accepted)')
    .addOption(profileOption())
    .option('--signature-header <name>', 'the header with the signature', headerName)
    .addOption(acceptedEncodingOption('how signatures are written'))
    .addOption(
      new Option('--limit <size>', 'the largest body, for example 512kb')
        .argParser(byteSize)
        .default(1024 ** 2, '1mb'),
    )
    .addOption(
      new Option('--unsigned <what>', 'accept lets requests without a signature through: only before 11.2')
        .choices(['reject', 'accept'])
        .default('reject'),
    )
    .option('--save <folder>', 'save each request there as a capture, for replay and explain')
    .option('--forward-to <url>', 'forward verified deliveries, unchanged', httpUrl)
    .option('--forward-refused', 'forward refused requests too')
    .option('--count <n>', 'end after n requests; the exit code is 1 if one was refused', wholeNumber(1, 1e9))
    .option('--once', 'the same as --count 1')
    .option('--json', 'print a line of JSON for each request')
  addKeyOptions(command, { several: true })
}

/** @throws {CliError} exit code 2 for invalid or contradictory options */
export function requireConsistent({ forwardRefused, forwardTo, path, host }: ListenOptions): void {
  if (forwardRefused && !forwardTo) throw usageError('--forward-refused requires --forward-to')
  if (path !== undefined && !/^\/[^?#]*$/.test(path))
    throw usageError('--path must begin with /, and must not contain ? or #')
  if (host === '') throw usageError('--host is empty', 'Give an address of this machine.')
}
