import { type Command, Option } from 'commander'
import type { SignatureEncoding } from '../../index.ts'
import { usageError } from '../errors.ts'
import { addKeyOptions, type KeyOptions } from '../options/keys.ts'
import { acceptedEncodingOption, type ProfileName, profileOption } from '../options/signature.ts'
import { byteSize, changeTypeList, headerName, httpUrl, port, wholeNumber } from '../options/values.ts'

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
  forwardTimeout?: number
  events?: string[]
  answer?: number
  delay?: number
  count?: number
  once?: true
  json?: true
}

/**
 * Default milliseconds for the response of the target. Shorter than the 10 s after which services give up
 * (docs/senders.md, "Delivery"), so that the sender still receives the 502.
 */
export const FORWARD_TIMEOUT = 8_000

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
    .option(
      '--forward-timeout <ms>',
      `how long to wait for the target's response, in milliseconds (default: ${FORWARD_TIMEOUT})`,
      wholeNumber(1, 600_000),
    )
    .option(
      '--events <names>',
      'ignore deliveries without one of these change types (comma-separated, repeatable)',
      changeTypeList,
    )
    .option(
      '--answer <status>',
      'respond to verified deliveries with this status, 200 to 599, to see how the sender retries',
      wholeNumber(200, 599),
    )
    .option(
      '--delay <ms>',
      'with --answer: how long to wait before the response, in milliseconds',
      wholeNumber(0, 86_400_000),
    )
    .option('--count <n>', 'end after n requests; the exit code is 1 if one was refused', wholeNumber(1, 1e9))
    .option('--once', 'the same as --count 1')
    .option('--json', 'print a line of JSON for each request')
  addKeyOptions(command, { several: true })
}

/** @throws {CliError} exit code 2 for invalid or contradictory options */
export function requireConsistent(options: ListenOptions): void {
  const { forwardRefused, forwardTo, forwardTimeout, answer, delay, path, host } = options
  if (forwardRefused && !forwardTo) throw usageError('--forward-refused requires --forward-to')
  if (forwardTimeout !== undefined && !forwardTo) throw usageError('--forward-timeout requires --forward-to')
  if (delay !== undefined && answer === undefined) throw usageError('--delay requires --answer')
  if (answer !== undefined && forwardTo)
    throw usageError('give either --answer or --forward-to', 'With --forward-to, the target answers.')
  if (path !== undefined && !/^\/[^?#]*$/.test(path))
    throw usageError('--path must begin with /, and must not contain ? or #')
  if (host === '') throw usageError('--host is empty', 'Give an address of this machine.')
}
