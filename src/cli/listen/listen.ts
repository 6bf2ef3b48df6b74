import type * as http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { Option } from 'commander'
import { createReceiver, type Delivery, type ReceiverOptions } from '../../index.ts'
import type { InspectorHandler, RequestLog } from '../../inspector/index.ts'
import { nearest } from '../../options.ts'
import { KNOWN_CHANGE_TYPES, subscriptionsOf, WILDCARD } from '../../payload/events.ts'
import { createTrust } from '../../shared/tls-trust.node.ts'
import { usageError } from '../errors.ts'
import { requireFolder } from '../io/captures.ts'
import { startServer } from '../io/server.ts'
import { type CaOptions, CliCommand, readCas, requireOthers } from '../options/command.ts'
import { addKeyListOptions, type KeyOptions, readKeys, requireKeys } from '../options/secrets.ts'
import { addProofOptions, type ProofOptions, toReceiverProof } from '../options/signature.ts'
import { byteSize, commaList, httpUrl, port, wholeNumber } from '../options/values.ts'
import { type Io, printable } from '../terminal/io.ts'
import { Reporter } from './report.ts'
import {
  type AcceptedDeliveries,
  createRequestListener,
  isLoop,
  type ReceivedRequest,
  storeAcceptedIn,
} from './request-listener.ts'
import { createTlsReporter, readCredentials, type TlsOptions } from './tls.ts'

export function createListenCommand(): CliCommand {
  return new CliCommand('listen')
    .summary('receive deliveries and print them')
    .description(
      'Starts a receiver, and prints each request after the response: verified, or refused with the reason. ' +
        'It can save requests, and forward the exact bytes to another address; the sender then gets the response ' +
        'of that address, or 502 without one.',
    )
    .with(addListenOptions)
    .examples(
      'geohook listen --key-file key.txt',
      'geohook listen --port 8080 --key-file new.txt --key-file old.txt --save captures',
      'geohook listen --key-env WEBHOOK_KEY --forward-to http://127.0.0.1:8000/hooks/parcels',
      'geohook listen --key-file key.txt --events FeaturesCreated,FeaturesDeleted',
      'geohook listen --key-file key.txt --answer 503 --delay 2000',
      'geohook listen --key-file key.txt --inspect',
      'geohook listen --key-file key.txt --tls-cert cert.pem --tls-key key.pem',
      'geohook listen --register Parcels.FeatureServer',
    )
}

/** Maximum milliseconds to wait for requests in flight after a stop. */
const GRACE = 3_000

/** A temporary webhook that sends to the listener. */
interface Registration {
  key: string
  create(url: string): Promise<void>
  delete(): Promise<void>
}

/** Receives and reports requests until Ctrl-C, or until `count` requests have arrived. */
export async function listen(io: Io, options: ListenOptions, registration?: Registration): Promise<void> {
  requireConsistent(options)
  const { limit, unsigned, path, forwardTo, forwardRefused, save, events, answer } = options
  const { forwardTimeout = FORWARD_TIMEOUT } = options
  const proof = toReceiverProof(options)
  const readOwn = unsigned === 'accept' ? readKeys : requireKeys
  const signatureKey = registration ? [registration.key] : await readOwn(io, options)
  const accepted: AcceptedDeliveries = new WeakMap()
  const keys = signatureKey.length > 0 ? { signatureKey } : {}
  const receiverOptions = { ...keys, ...proof, limit, unsigned }
  const receiver = createReceiver({
    ...(receiverOptions as ReceiverOptions),
    observer: storeAcceptedIn(accepted),
  }).on('*', () => {})
  const count = options.once ? 1 : options.count
  const reporter = new Reporter(io, { receiverOptions, save, count })
  const ca = await readCas(io, options)
  const credentials = await readCredentials(io, options)
  const stopping = new AbortController()
  const forwarding = new AbortController()
  let isRegistered = false
  const requestListener = createRequestListener({
    receiver,
    accepted,
    limit,
    path,
    isSelected: createSelection(events),
    forwardTo: forwardTo && { url: forwardTo, timeout: forwardTimeout, trust: createTrust(ca) },
    forwardRefused,
    answer: answer === undefined ? undefined : { status: answer, delay: options.delay ?? 0 },
    stopping: stopping.signal,
    signal: forwarding.signal,
    onRequest(request) {
      // The checks that a service makes of a payload URL are not what `count` waits for.
      reporter.add(request, !registration || (isRegistered && request.outcome.kind !== 'handshake'))
      inspection?.add(request)
    },
    onOtherPath(request) {
      if (io.json) io.printEvent({ event: 'other_path', ...request, status: 404 })
      else io.note(io.colours.dim(`404 for ${io.shortened(request.url)}: --path is ${path}`))
    },
  })
  if (save !== undefined) await requireFolder(save)
  if (!io.json) for (const warning of warningsAbout(events)) io.note(printable(warning))
  // Called before the address is printed, because a script may stop the listener as soon as it has read the address.
  const stopped = io.untilStopped()
  const inspection = options.inspect === undefined ? undefined : await startInspection(io, options.inspect)
  try {
    const server = await startServer(requestListener, options.port, options.host, {
      tls: credentials && { ...credentials, onError: createTlsReporter(io) },
    })
    const url = server.url + (path ?? '/')
    inspection?.begin(receiverOptions, { title: `geohook listen ${url}`, resendTo: server.url, ca })
    // At once, because a script may stop the listener when it has read the address.
    io.printAddress('listening on', url)
    inspection?.print()
    if (forwardTo && isLoop(forwardTo, server.url)) {
      await server.close()
      throw usageError(
        '--forward-to is the address of the listener itself',
        'Each delivery would be forwarded in a loop.',
      )
    }
    stopped.then(() => reporter.stopExplaining())
    try {
      await registration?.create(url)
      isRegistered = true
      await Promise.race([stopped, reporter.enough])
    } catch (error) {
      await server.close()
      throw error
    } finally {
      await registration?.delete()
    }
    stopping.abort()
    const answered = receiver.close()
    // Limits the wait, because a client may never read its response, and a target may never respond.
    await Promise.race([answered, delay(io.wait(GRACE), undefined, { ref: false })])
    forwarding.abort()
    await server.close()
    await answered
    await reporter.idle()
  } finally {
    await inspection?.close()
  }
}

export interface ListenOptions extends KeyOptions, ProofOptions, TlsOptions, CaOptions {
  port: number
  host: string
  path?: string
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
  inspect?: number | true
  register?: string
  cleanup?: string
}

/**
 * Default milliseconds for the response of the target. Shorter than the 10 s after which services give up
 * (docs/senders.md, "Delivery"), so that the sender still receives the 502.
 */
const FORWARD_TIMEOUT = 8_000

function addListenOptions(command: CliCommand): void {
  command
    .option('--port <n>', 'port to listen on; 0 picks a free one', port, 3000)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--tls-cert <file>', 'serve HTTPS with the certificate in this PEM file')
    .option('--tls-key <file>', 'PEM file with the private key of that certificate')
    .option(
      '--path <path>',
      'accept only this path, and respond to others with 404 (default: accept every path)',
    )
    .with(addProofOptions)
    .addOption(
      new Option('--limit <size>', 'maximum size of a body, for example 512kb')
        .argParser(byteSize)
        .default(1024 ** 2, '1mb'),
    )
    .choice(
      '--unsigned <what>',
      'what to do with requests without a signature; senders before 11.2 do not sign',
      ['reject', 'accept'],
      'reject',
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
      commaList(/./, 'change types separated by commas, for example FeaturesCreated', String),
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
    .with(addKeyListOptions)
}

/** @throws {CliError} exit code 2 for invalid or contradictory options */
function requireConsistent(options: ListenOptions): void {
  const { forwardTo, answer, path, host, ca, inspect, register } = options
  requireOthers(options, [
    ['tlsCert', 'tlsKey'],
    ['tlsKey', 'tlsCert'],
    ['forwardRefused', 'forwardTo'],
    ['forwardTimeout', 'forwardTo'],
    ['delay', 'answer'],
  ])
  if (ca && !forwardTo && inspect === undefined && register === undefined)
    throw usageError(
      '--ca requires --forward-to or --inspect, or --register',
      'The senders must trust the CA of the listener, not the listener.',
    )
  if (answer !== undefined && forwardTo)
    throw usageError('give either --answer or --forward-to', 'With --forward-to, the target answers.')
  if (path !== undefined && !/^\/[^?#]*$/.test(path))
    throw usageError('--path must begin with /, and must not contain ? or #')
  if (host === '') throw usageError('--host is empty', 'Give an address of this machine.')
}

/**
 * Returns a function that selects deliveries with at least one of these change types. As in `receiver.on()`,
 * `FeaturesEdited` includes all edits, and `*` everything.
 *
 * @param names change types; undefined selects every delivery
 */
function createSelection(names: readonly string[] | undefined): (delivery: Delivery) => boolean {
  if (!names) return () => true
  const selected = new Set(names)
  return ({ changeTypes }) =>
    selected.has(WILDCARD) ||
    changeTypes.some((changeType) => subscriptionsOf(changeType).some((name) => selected.has(name)))
}

const KNOWN: readonly string[] = [...KNOWN_CHANGE_TYPES, WILDCARD]

/** Returns a warning for each name that looks like a misspelt change type. Other unknown names may be a sender's own. */
const warningsAbout = (names: readonly string[] = []): string[] =>
  names.flatMap((name) => {
    const meant = KNOWN.includes(name) ? undefined : nearest(name, KNOWN)
    return meant ? [`--events ${name} is not a known change type. Did you mean ${meant}?`] : []
  })

const HOST = '127.0.0.1'
const DEFAULT_PORT = 4040

/**
 * Starts the server of `--inspect`, on this machine only.
 *
 * @param port true for the default one
 * @throws {CliError} exit code 2 if the server cannot listen on the port
 */
async function startInspection(io: Io, port: number | true) {
  const { createRequestLog, createInspector } = await import('../../inspector/index.ts')
  let requestLog: RequestLog | undefined
  let page: InspectorHandler | undefined
  const listener: http.RequestListener = (req, res) => page?.(req, res)
  const server = await startServer(listener, port === true ? DEFAULT_PORT : port, HOST, {
    option: '--inspect',
  })
  return {
    /** Begins to record. Called when the listener's address is known, before its first request arrives. */
    begin(...options: Parameters<typeof createRequestLog>) {
      requestLog = createRequestLog(...options)
      page = createInspector(requestLog)
    },
    add(request: ReceivedRequest) {
      requestLog?.add({ ...request, milliseconds: Date.now() - request.receivedAt.getTime() })
    },
    print() {
      const url = `${server.url}/`
      if (io.json) io.printEvent({ event: 'inspector', url })
      else io.print(`inspector on ${io.colours.bold(url)}`)
    },
    /** Closes all connections, also those that wait for changes. */
    close: server.close,
  }
}
