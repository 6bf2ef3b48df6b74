import { setTimeout as delay } from 'node:timers/promises'
import { Command } from 'commander'
import { createReceiver, type SignedOptions } from '../../index.ts'
import { createTrust } from '../../shared/tls-trust.node.ts'
import { requireFolder } from '../captures/files.ts'
import { usageError } from '../errors.ts'
import { startServer } from '../io/server.ts'
import { readCas } from '../options/ca.ts'
import { readKeys, requireKeys } from '../options/keys.ts'
import { toReceiverProof } from '../options/signature.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import { printable } from '../terminal/printable.ts'
import { isLoop } from './forward.ts'
import { startInspection } from './inspect.ts'
import { addListenOptions, FORWARD_TIMEOUT, type ListenOptions, requireConsistent } from './options.ts'
import { printOtherPath } from './print-report.ts'
import { createReporter } from './reporter.ts'
import { type AcceptedDeliveries, createRequestListener, storeAcceptedIn } from './request-listener.ts'
import { createSelection, warningsAbout } from './selection.ts'
import { createTlsReporter, readCredentials } from './tls.ts'

export function createListenCommand(io: Io): Command {
  const command = new Command('listen')
    .summary('receive deliveries and print them')
    .description(
      'Starts a receiver, and prints each request when it arrives: verified, or refused with the reason. ' +
        'It can save requests, and forward the exact bytes to another address; the sender then gets the response ' +
        'of that address, or 502 without one.',
    )
  addListenOptions(command)
  addExamples(command, [
    'geohook listen --key-file key.txt',
    'geohook listen --port 8080 --key-file new.txt --key-file old.txt --save captures',
    'geohook listen --key-env WEBHOOK_KEY --forward-to http://127.0.0.1:8000/hooks/parcels',
    'geohook listen --key-file key.txt --events FeaturesCreated,FeaturesDeleted',
    'geohook listen --key-file key.txt --answer 503 --delay 2000',
    'geohook listen --key-file key.txt --inspect',
    'geohook listen --key-file key.txt --tls-cert cert.pem --tls-key key.pem',
  ])
  return command.action((options) => listen(io, options))
}

/** Maximum milliseconds to wait for requests in flight after a stop. */
const GRACE = 3_000

/** Receives and reports requests until Ctrl-C, or until `count` requests have arrived. */
async function listen(io: Io, options: ListenOptions): Promise<void> {
  requireConsistent(options)
  const { limit, unsigned, path, forwardTo, forwardRefused, save, events, answer } = options
  const proof = toReceiverProof(options)
  const signatureKey = await (unsigned === 'accept' ? readKeys(io, options) : requireKeys(io, options))
  const accepted: AcceptedDeliveries = new WeakMap()
  const keys = signatureKey.length > 0 ? { signatureKey } : {}
  const receiverOptions = { ...keys, ...proof, limit, unsigned }
  const receiver = createReceiver({
    ...(receiverOptions as SignedOptions & typeof receiverOptions),
    observer: storeAcceptedIn(accepted),
  }).on('*', () => {})
  const count = options.once ? 1 : options.count
  const reporter = createReporter(io, { receiverOptions, save, count })
  const ca = await readCas(io, options)
  const credentials = await readCredentials(io, options)
  const stopping = new AbortController()
  const forwarding = new AbortController()
  const requestListener = createRequestListener({
    receiver,
    accepted,
    limit,
    path,
    isSelected: createSelection(events),
    ...(forwardTo && {
      forwardTo: {
        url: forwardTo,
        timeout: options.forwardTimeout ?? FORWARD_TIMEOUT,
        trust: createTrust(ca),
      },
    }),
    forwardRefused,
    ...(answer !== undefined && { answer: { status: answer, delay: options.delay ?? 0 } }),
    stopping: stopping.signal,
    signal: forwarding.signal,
    onRequest(request) {
      reporter.add(request)
      inspection?.add(request)
    },
    onOtherPath: (request) => printOtherPath(io, request, path),
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
    inspection?.begin({ ...receiverOptions, title: `geohook listen ${url}`, resendTo: server.url, ca })
    // At once, because a script may stop the listener when it has read the address.
    if (io.json) io.printEvent({ event: 'listening', url })
    else io.print(`listening on ${io.colours.bold(url)}${io.colours.dim(' (Ctrl-C stops it)')}`)
    inspection?.print()
    if (forwardTo && isLoop(forwardTo, server.url)) {
      await server.close()
      throw usageError(
        '--forward-to is the address of the listener itself',
        'Each delivery would be forwarded in a loop.',
      )
    }
    stopped.then(reporter.stopExplaining)
    await Promise.race([stopped, reporter.enough])
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
