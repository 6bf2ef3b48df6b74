import { blameCaller } from '../errors.ts'
import { type ReceiverOptions, readOptions } from './options.ts'
import { warnOfUnsigned } from './proof-options.ts'
import { receiverOf } from './receiver.ts'
import type { Receiver } from './receiver-types.ts'

/**
 * Creates a receiver. Mount it with the adapter of your framework, for example `geohook/express`, or pass
 * `receiver.fetch` to a platform that uses web requests.
 *
 * @throws {WebhookError} `config_invalid` for an invalid option
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 *
 * const receiver = createReceiver({ signatureKey: 'parcels2026' })
 *   .on('FeaturesCreated', (event) => console.log(event.service.serviceName, event.changesUrl))
 *   .on('*', (event, delivery) => console.log(delivery.id, event.changeType))
 * ```
 */
export function createReceiver<Payload = unknown>(options: ReceiverOptions<Payload>): Receiver<Payload> {
  const config = blameCaller(createReceiver, () => readOptions((options ?? {}) as ReceiverOptions))
  warnOfUnsigned(config)
  return receiverOf(config)
}

/** Creates a receiver without a warning about unsigned bodies, to which `explain` passes one request. */
export const createQuietReceiver = (options: ReceiverOptions): Receiver => receiverOf(readOptions(options))
