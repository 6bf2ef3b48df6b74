import type { Attempt, Notice, Service, Snapshot } from '../../mock/index.ts'
import { count, paint, print, printJson } from '../terminal/output.ts'
import { printable } from '../terminal/printable.ts'

/** More of them are only counted: "geohook list" shows all. */
const MAX_TOLD = 10

/** Tells where the service is, and what it has. */
export function tellStart(
  url: string,
  { services, webhooks }: Snapshot,
  { quiet, json }: { quiet: boolean; json: boolean },
): void {
  if (json) {
    printJson({ event: 'listening', url }, 0)
    return
  }
  print(`mock service on ${paint.bold(url)}${paint.dim(' (Ctrl-C ends it)')}`)
  if (quiet) return
  print(`${count(services.length, 'service')}, ${count(webhooks.length, 'webhook')}`)
  if (webhooks.length === 0) tellSome(services, nameOf)
  tellSome(webhooks, ({ id, name, hookUrl, ...service }) => {
    return `${nameOf(service)}  ${printable(name)} (${id})  ${printable(hookUrl)}`
  })
}

function tellSome<T>(items: readonly T[], toText: (item: T) => string): void {
  for (const item of items.slice(0, MAX_TOLD)) print(`  ${toText(item)}`)
  if (items.length > MAX_TOLD) print(`  ... and ${items.length - MAX_TOLD} more`)
}

const nameOf = ({ folderName, serviceName, serviceType }: Service): string =>
  printable(`${folderName && `${folderName}/`}${serviceName}.${serviceType}`)

/** Tells of an attempt that has ended, or a change. What receivers answered goes through `printable`. */
export function tellNotice(notice: Notice, json: boolean): void {
  if (json) {
    printJson(toEvent(notice), 0)
    return
  }
  const time = paint.dim(new Date().toLocaleTimeString('en-GB'))
  if (notice.type === 'attempt') print(`${time}  ${toLine(notice.attempt)}`)
  else if (notice.type === 'webhook') {
    const { change, name, service } = notice
    print(`${time}  ${paint.cyan(change.replace('_', ' '))}  ${printable(name)} of ${printable(service)}`)
  } else print(`${time}  ${paint.cyan(notice.type)}`)
}

const isGood = ({ answer }: Attempt): boolean =>
  answer !== undefined && answer.status >= 200 && answer.status < 300

function toLine(attempt: Attempt): string {
  const { answer, number, hookUrl, milliseconds = 0, error, fault } = attempt
  const status = String(answer?.status ?? '---')
  return [
    isGood(attempt) ? paint.green(status) : paint.red(status),
    `attempt ${number}`,
    printable(hookUrl),
    `${milliseconds} ms`,
    ...(fault ? [`fault ${fault}`] : []),
    ...(error ? [printable(error)] : []),
  ].join('  ')
}

/** Without the request: it has the signature, and the control API gives it to who asks. */
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
