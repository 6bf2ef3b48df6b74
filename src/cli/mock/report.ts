import type { Attempt, Notice, Service, Snapshot } from '../../mock/index.ts'
import { count } from '../../shared/words.ts'
import type { Io } from '../terminal/io.ts'
import { printable } from '../terminal/printable.ts'

/** Maximum number of services or webhooks to print. `geohook list` prints all webhooks. */
const MAX_LISTED = 10

/** Prints the address of the service, and its webhooks. */
export function printStart(io: Io, url: string, { services, webhooks }: Snapshot, quiet: boolean): void {
  io.printAddress('mock service on', url)
  if (io.json || quiet) return
  io.print(`${count(services.length, 'service')}, ${count(webhooks.length, 'webhook')}`)
  if (webhooks.length === 0) printFirst(io, services, nameOf)
  printFirst(io, webhooks, ({ id, name, hookUrl, ...service }) => {
    return `${nameOf(service)}  ${printable(name)} (${id})  ${printable(hookUrl)}`
  })
}

function printFirst<T>(io: Io, items: readonly T[], toText: (item: T) => string): void {
  for (const item of items.slice(0, MAX_LISTED)) io.print(`  ${toText(item)}`)
  if (items.length > MAX_LISTED) io.print(`  ... and ${items.length - MAX_LISTED} more`)
}

const nameOf = ({ folderName, serviceName, serviceType }: Service): string =>
  printable(`${folderName && `${folderName}/`}${serviceName}.${serviceType}`)

/** Prints a delivery attempt or a change of the service's state. */
export function printNotice(io: Io, notice: Notice): void {
  const time = io.colours.dim(new Date().toLocaleTimeString('en-GB'))
  if (io.json) io.printEvent(toEvent(notice))
  else if (notice.type === 'attempt') io.print(`${time}  ${toLine(io, notice.attempt)}`)
  else if (notice.type === 'restored') io.print(`${time}  ${io.colours.cyan(notice.type)}`)
  else io.print(`${time}  ${toChange(io, notice)}`)
}

function toChange(io: Io, notice: Exclude<Notice, { type: 'attempt' | 'restored' }>): string {
  const webhook = `${printable(notice.name)} of ${printable(notice.service)}`
  if (notice.type === 'webhook') return `${io.colours.cyan(notice.change.replace('_', ' '))}  ${webhook}`
  const reason = printable(notice.reason ?? '')
  if (notice.type === 'not_sent')
    return `${io.colours.red('not sent')}  ${count(notice.events, 'event')} to ${webhook}: its handshake failed: ${reason}`
  return notice.ok
    ? `${io.colours.green('handshake')}  ${webhook}`
    : `${io.colours.red('handshake failed')}  ${webhook}: ${reason}; its deliveries are stopped`
}

function toLine(io: Io, attempt: Attempt): string {
  const { answer, number, hookUrl, milliseconds = 0, error, fault } = attempt
  return [
    io.toStatus(answer?.status),
    `attempt ${number}`,
    printable(hookUrl),
    `${milliseconds} ms`,
    ...(fault ? [`fault ${fault}`] : []),
    ...(error ? [printable(error)] : []),
  ].join('  ')
}

/** Omits an attempt's request, because the request contains the signature. The control API returns the request. */
function toEvent(notice: Notice): object {
  if (notice.type !== 'attempt') {
    const { type: event, ...rest } = notice
    return { event, ...rest }
  }
  const { id, deliveryId, webhookId, number, hookUrl, sentAt, answer, error, milliseconds, fault } =
    notice.attempt
  const status = answer?.status
  return {
    event: 'attempt',
    id,
    deliveryId,
    webhookId,
    number,
    hookUrl,
    sentAt,
    status,
    error,
    milliseconds,
    fault,
  }
}
