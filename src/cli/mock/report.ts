import type { Attempt, Notice, Service, Snapshot } from '../../mock/index.ts'
import { isSuccess } from '../io/http.ts'
import { colours, count, print, printJson } from '../terminal/output.ts'
import { printable } from '../terminal/printable.ts'

/** Maximum number of services or webhooks to print. `geohook list` prints all webhooks. */
const MAX_LISTED = 10

/** Prints the address of the service, and its webhooks. */
export function printStart(
  url: string,
  { services, webhooks }: Snapshot,
  { quiet, json }: { quiet: boolean; json: boolean },
): void {
  if (json) {
    printJson({ event: 'listening', url }, 0)
    return
  }
  print(`mock service on ${colours.bold(url)}${colours.dim(' (Ctrl-C stops it)')}`)
  if (quiet) return
  print(`${count(services.length, 'service')}, ${count(webhooks.length, 'webhook')}`)
  if (webhooks.length === 0) printFirst(services, nameOf)
  printFirst(webhooks, ({ id, name, hookUrl, ...service }) => {
    return `${nameOf(service)}  ${printable(name)} (${id})  ${printable(hookUrl)}`
  })
}

function printFirst<T>(items: readonly T[], toText: (item: T) => string): void {
  for (const item of items.slice(0, MAX_LISTED)) print(`  ${toText(item)}`)
  if (items.length > MAX_LISTED) print(`  ... and ${items.length - MAX_LISTED} more`)
}

const nameOf = ({ folderName, serviceName, serviceType }: Service): string =>
  printable(`${folderName && `${folderName}/`}${serviceName}.${serviceType}`)

/** Prints a delivery attempt or a change of the service's state. */
export function printNotice(notice: Notice, json: boolean): void {
  if (json) {
    printJson(toEvent(notice), 0)
    return
  }
  const time = colours.dim(new Date().toLocaleTimeString('en-GB'))
  if (notice.type === 'attempt') print(`${time}  ${toLine(notice.attempt)}`)
  else if (notice.type === 'restored') print(`${time}  ${colours.cyan(notice.type)}`)
  else print(`${time}  ${toChange(notice)}`)
}

function toChange(notice: Exclude<Notice, { type: 'attempt' | 'restored' }>): string {
  const webhook = `${printable(notice.name)} of ${printable(notice.service)}`
  if (notice.type === 'webhook') return `${colours.cyan(notice.change.replace('_', ' '))}  ${webhook}`
  const reason = printable(notice.reason ?? '')
  if (notice.type === 'not_sent')
    return `${colours.red('not sent')}  ${count(notice.events, 'event')} to ${webhook}: its handshake failed: ${reason}`
  return notice.ok
    ? `${colours.green('handshake')}  ${webhook}`
    : `${colours.red('handshake failed')}  ${webhook}: ${reason}; its deliveries are stopped`
}

function toLine(attempt: Attempt): string {
  const { answer, number, hookUrl, milliseconds = 0, error, fault } = attempt
  const status = String(answer?.status ?? '---')
  return [
    isSuccess(answer?.status) ? colours.green(status) : colours.red(status),
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
