import { subscriptionsOf } from '../../payload/events.ts'
import { CliError, EXIT } from '../errors.ts'
import type { Io } from '../terminal/io.ts'
import type { ServiceClient } from './client.ts'
import { type ListedWebhook, listWebhooks, type ServicePath } from './webhooks.ts'

/**
 * Finds out why events caused no delivery. Returns if an active webhook is subscribed: it may have been edited since.
 *
 * @throws {CliError} exit code 4 if no webhook is subscribed, 5 if the subscribed ones are inactive
 */
export async function requireSent(
  io: Io,
  client: ServiceClient,
  service: ServicePath,
  changeTypes: readonly string[],
): Promise<void> {
  const webhooks = await listIfAllowed(io, client, service)
  const subscriptions = new Set(changeTypes.flatMap(subscriptionsOf))
  const subscribed = webhooks?.filter((webhook) =>
    webhook.changeTypes.some((name) => subscriptions.has(name)),
  )
  if (!subscribed?.length) {
    const [subject, fix] = webhooks
      ? ['no webhook', '"geohook create" creates one, "geohook edit --change-types" changes one.']
      : ['no active webhook', 'Give a token with --token-file or --token-env to see inactive ones too.']
    throw new CliError(EXIT.noSubscription, 'not_subscribed', `${subject} is subscribed to this event`, fix)
  }
  if (subscribed.some(({ active }) => active !== false)) return
  const names = subscribed.map(({ name, id }) => name || id).join(', ')
  const message =
    subscribed.length === 1 ? `the webhook ${names} is inactive` : `the webhooks ${names} are inactive`
  throw new CliError(EXIT.inactive, 'inactive', message, '"geohook edit --active true" activates a webhook.')
}

/** Returns undefined if the client may trigger events, but not list the webhooks. */
async function listIfAllowed(
  io: Io,
  client: ServiceClient,
  service: ServicePath,
): Promise<ListedWebhook[] | undefined> {
  try {
    return await listWebhooks(io, client, service)
  } catch (error) {
    if (error instanceof CliError && /^service_(401|403|498|499)$/.test(error.code)) return undefined
    throw error
  }
}
