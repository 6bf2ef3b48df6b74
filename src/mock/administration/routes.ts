import { type ErrorRequestHandler, type RequestHandler, Router, raw } from 'express'
import { servicePath } from '../services.ts'
import { ANYONE, defaultSchedule, type Webhook } from '../webhook.ts'
import type { Context } from './context.ts'
import { type Parameters, readParameters, single } from './form.ts'
import { AdminError, answer, answerError, readFormat } from './formats.ts'
import { readChanges } from './parameters.ts'

/** What an operation works on, and its answer. */
type Operation = (webhook: Webhook, parameters: Parameters) => object

const MAX_BODY = '1mb'

/** `edit` and `delete`, below `/services/[folder/]<serviceName>.<serviceType>/webhooks/<id>` (specification, "Endpoints"). */
export function administration(context: Context): Router {
  const { services, webhooks } = context.state
  const operations: Record<string, Operation> = {
    edit: (webhook, parameters) => edit(context, webhook, parameters),
    delete({ id }) {
      webhooks.delete(id)
      return { status: 'success' }
    },
  }

  const operate =
    (operation: Operation): RequestHandler<Record<string, string>> =>
    (req, res) => {
      const parameters = readParameters(req.body, req.headers['content-type'])
      res.locals.indent = readFormat(single(parameters, 'f') ?? queryFormat(req.query.f))
      const { folder = '', service: name = '', id = '' } = req.params
      const service = services.find(folder === '' ? name : `${folder}/${name}`)
      if (!service) throw new AdminError(404, 'there is no such service')
      const webhook = webhooks.get(id)
      if (!webhook || servicePath(webhook) !== servicePath(service))
        throw new AdminError(404, 'there is no such webhook')
      answer(res, operation(webhook, parameters))
    }

  const router = Router({ caseSensitive: true, strict: true })
  for (const [name, operation] of Object.entries(operations)) {
    router
      .route(`/services{/:folder}/:service/webhooks/:id/${name}`)
      .post(raw({ type: () => true, limit: MAX_BODY }), operate(operation))
      .all(refuseMethod)
  }
  router.use(() => {
    throw new AdminError(404, 'there is nothing here')
  })
  router.use(onError)
  return router
}

function edit({ state: { webhooks } }: Context, webhook: Webhook, parameters: Parameters): object {
  const changes = readChanges(parameters, webhook.serviceType)
  const holder = changes.name === undefined ? undefined : webhooks.named(webhook, changes.name)
  if (holder && holder.id !== webhook.id) {
    throw new AdminError(400, 'name is taken by another webhook of this service')
  }
  const edited = webhooks.edit(webhook.id, changes, ANYONE) as Webhook
  const { serviceType, scheduleInfo, created } = edited
  const schedule = serviceType === 'GPServer' ? {} : { ...defaultSchedule(created), ...scheduleInfo }
  return { ...edited, scheduleInfo: schedule, status: 'success' }
}

const refuseMethod: RequestHandler = (_req, res) => {
  res.set('allow', 'POST')
  throw new AdminError(405, 'use POST')
}

/** `f` in the URL, for clients that send no form with a delete. Empty is as good as absent, as in a form. */
const queryFormat = (f: unknown): string | undefined => String(f ?? '') || undefined

const onError: ErrorRequestHandler = (error, _req, res, _next) => {
  answerError(res, error instanceof AdminError ? error : toAdminError(error))
}

/** What body parsing and routing throw bears a status; anything else is a fault of the mock. */
function toAdminError({ status, message }: { status?: number; message?: string }): AdminError {
  if (status !== undefined && status >= 400 && status < 500)
    return new AdminError(status, message ?? 'bad request')
  return new AdminError(500, 'internal error')
}
