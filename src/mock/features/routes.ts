import { ANONYMOUS, identify } from '../admin/operation.ts'
import { warn } from '../event-listeners.ts'
import { AdminError, waitForSave } from '../http/errors.ts'
import { type Answer, contentOf, type Route, schemaRef } from '../http/operation.ts'
import { type MountedRequest, originOf, splitUrl } from '../http/request.ts'
import { createHandler, type Exchange, type Handler } from '../http/router.ts'
import { servicePath } from '../state/services.ts'
import { EDIT_OPERATIONS } from './edit-operations.ts'
import { EXTRACT_OPERATIONS } from './extract/operations.ts'
import type { FeatureCall, FeatureContext, FeatureOperation } from './operation.ts'
import { QUERY_OPERATIONS } from './query-operations.ts'

const TYPE = 'FeatureServer'

export const FEATURE_ROUTES: readonly Route<FeatureOperation>[] = [
  ...QUERY_OPERATIONS,
  ...EDIT_OPERATIONS,
  ...EXTRACT_OPERATIONS,
].flatMap((operation) =>
  ['{serviceName}', '{folderName}/{serviceName}'].map((name, index): Route<FeatureOperation> => {
    const { area, path } = operation
    const below = `${area ? '/admin' : ''}/services/${name}/${TYPE}${path === '' ? '' : `/${path}`}`
    return {
      path: `/rest${below}`,
      aliases: [below],
      anyCase: path.split('/'),
      operation,
      tag: 'features',
      idOf: (method) => `${operation.name}${method === 'GET' ? 'ByGet' : ''}${index === 1 ? 'InFolder' : ''}`,
      responsesOf: () => {
        const { response, summary } = operation
        const error = schemaRef('ErrorObject')
        const content =
          typeof response === 'string'
            ? { [response]: {}, 'application/json': { schema: error } }
            : contentOf({ anyOf: [response, error] })
        return { 200: { description: `${summary} Errors have this status too, except 405.`, content } }
      },
    }
  }),
)

/** Handles the operations of feature services, and passes every other request on. */
export const createFeatureHandler = (context: FeatureContext, hasInspector: boolean): Handler =>
  createHandler<FeatureOperation>({
    routes: FEATURE_ROUTES,
    toPath: (path) => path.replace(/\/$/, ''),
    limitOf: () => 16,
    panel: hasInspector ? 'features' : undefined,
    parameters: 'merged',
    run: (exchange) => run(context, exchange),
    // The HTTP status of an error is 200, as these services do. Clients of the vendor lose the message of an error with
    // another status. Only a wrong method has its own status, 405.
    toFailure({ status: code, messages }) {
      const [message = '', ...details] = messages
      return { status: code === 405 ? 405 : 200, body: { error: { code, message, details } } }
    },
  })

async function run(
  context: FeatureContext,
  { req, operation, names, parameters, files }: Exchange<FeatureOperation>,
): Promise<Answer> {
  const user = operation.isOpen?.(parameters) ? ANONYMOUS : await identify(context, parameters, req.headers)
  const { folderName = '', serviceName = '', ...path } = names
  const service = context.state.services.find(servicePath({ folderName, serviceName, serviceType: TYPE }))
  if (!service) throw new AdminError(404, 'the service does not exist')
  const data = context.state.features.of(service)
  const serviceUrl = serviceUrlOf(req, operation)
  const call: FeatureCall = { context, service, data, user, parameters, files, path, serviceUrl }
  const { events = [], changed, ...answer } = operation.run(call)
  // Before the save: the change is made, even if it cannot be saved.
  if (events.length > 0) context.deliverEvents(service, events).catch(warn)
  if (changed) await waitForSave(context.save)
  return answer
}

function serviceUrlOf(req: MountedRequest, { path }: FeatureOperation): string {
  const segments = splitUrl(req.url ?? '')
    .path.replace(/\/$/, '')
    .split('/')
  const below = path === '' ? 0 : path.split('/').length
  return originOf(req) + (req.baseUrl ?? '') + segments.slice(0, segments.length - below).join('/')
}
