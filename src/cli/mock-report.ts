import type { Attempt, Notice, Snapshot } from '../mock/index.ts'
import { paint, print, printJson, toTable } from './output.ts'
import { printable } from './printable.ts'
import { toRow, WEBHOOK_COLUMNS } from './webhooks.ts'

/** Tells where the service is, and what it has. */
export async function tellStart(
  url: string,
  { services, webhooks }: Snapshot,
  { quiet, json }: { quiet: boolean; json: boolean },
): Promise<void> {
  if (json) {
    printJson({ event: 'listening', url }, 0)
    return
  }
  print(`mock service on ${paint.bold(url)}${paint.dim(' (Ctrl-C ends it)')}`)
  if (quiet) return
  const rows = webhooks.map((webhook) => toRow({ ...webhook }))
  if (rows.length > 0) print(await toTable(WEBHOOK_COLUMNS, rows))
  const names = services.map(({ folderName, serviceName, serviceType }) =>
    printable(`${folderName && `${folderName}/`}${serviceName}.${serviceType}`),
  )
  if (rows.length === 0) print(`no webhooks yet; services: ${names.join(', ') || 'none'}`)
}

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
