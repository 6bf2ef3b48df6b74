import { type Command, Option } from 'commander'
import type { SignatureEncoding } from '../../index.ts'
import { usageError } from '../errors.ts'
import { type CaOptions, caOption } from '../options/ca.ts'
import { addKeyOptions, type KeyOptions } from '../options/keys.ts'
import { acceptedEncodingOption, type ProfileName, profileOption } from '../options/signature.ts'
import { byteSize, changeTypeList, headerName, httpUrl, port, wholeNumber } from '../options/values.ts'
import type { TlsOptions } from './tls.ts'

export interface ListenOptions extends KeyOptions, TlsOptions, CaOptions {
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
  /** True without a port. */
  inspect?: number | true
}

/**
 * Default milliseconds for the response of the target. Shorter than the 10 s after which services give up
 * (docs/senders.md, "Delivery"), so that the sender still receives the 502.
 */
export const FORWARD_TIMEOUT = 8_000

export function addListenOptions(command: Command): void {
  command
    .option('--port <n>', 'port to listen on; 0 picks a free one', port, 3000)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--tls-cert <file>', 'serve HTTPS with the certificate in this PEM file')
    .option('--tls-key <file>', 'PEM file with the private key of that certificate')
    .option(
      '--path <path>',
      'accept only this path, and respond to others with 404 (default: accept every path)',
    )
    .addOption(profileOption())
    .option(
      '--signature-header <name>',
      "header that contains the signature (default: the profile's)",
      headerName,
    )
    .addOption(acceptedEncodingOption('encoding of signatures'))
    .addOption(
      new Option('--limit <size>', 'maximum size of a body, for example 512kb')
        .argParser(byteSize)
        .default(1024 ** 2, '1mb'),
    )
    .addOption(
      new Option(
        '--unsigned <what>',
        'what to do with requests without a signature; senders before 11.2 do not sign',
      )
        .choices(['reject', 'accept'])
        .default('reject'),
    )
    .option('--save <folder>', 'save each request in this folder, as a capture for replay and explain')
    .option('--forward-to <url>', 'forward verified deliveries to this address, unchanged', httpUrl)
    .option('--forward-refused', 'also forward refused requests')
    .option(
      '--forward-timeout <ms>',
      `maximum wait for the response of that address, in milliseconds (default: ${FORWARD_TIMEOUT})`,
      wholeNumber(1, 600_000),
    )
    .option(
      '--events <names>',
      'ignore deliveries without one of these change types; separate them with commas',
      changeTypeList,
    )
    .option(
      '--answer <status>',
      'respond to verified deliveries with this status, 200 to 599, to see how the sender retries',
      wholeNumber(200, 599),
    )
    .option(
      '--delay <ms>',
      'with --answer: milliseconds to wait before the response',
      wholeNumber(0, 86_400_000),
    )
    .option('--count <n>', 'exit after n requests, with code 1 if one was refused', wholeNumber(1, 1e9))
    .option('--once', 'same as --count 1')
    .option(
      '--inspect [port]',
      'serve a page that shows, explains and resends requests, on this machine only; 0 picks a free port (default: 4040)',
      port,
    )
    .option('--json', 'print a line of JSON for each request')
  command.addOption(caOption())
  addKeyOptions(command, { several: true })
}

/** @throws {CliError} exit code 2 for invalid or contradictory options */
export function requireConsistent(options: ListenOptions): void {
  const { forwardRefused, forwardTo, forwardTimeout, answer, delay, path, host } = options
  const { tlsCert, tlsKey, ca, inspect } = options
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw usageError('--tls-cert and --tls-key require each other')
  if (ca && !forwardTo && inspect === undefined)
    throw usageError(
      '--ca requires --forward-to or --inspect',
      'The senders must trust the CA of the listener, not the listener.',
    )
  if (forwardRefused && !forwardTo) throw usageError('--forward-refused requires --forward-to')
  if (forwardTimeout !== undefined && !forwardTo) throw usageError('--forward-timeout requires --forward-to')
  if (delay !== undefined && answer === undefined) throw usageError('--delay requires --answer')
  if (answer !== undefined && forwardTo)
    throw usageError('give either --answer or --forward-to', 'With --forward-to, the target answers.')
  if (path !== undefined && !/^\/[^?#]*$/.test(path))
    throw usageError('--path must begin with /, and must not contain ? or #')
  if (host === '') throw usageError('--host is empty', 'Give an address of this machine.')
}
