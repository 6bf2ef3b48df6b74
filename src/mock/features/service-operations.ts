import { READ_METHODS } from '../admin/operation.ts'
import { toServiceJson } from './description.ts'
import { BOOLEAN, type FeatureOperation, optional, readBoolean } from './operation.ts'

const getService: FeatureOperation = {
  name: 'getFeatureService',
  path: '',
  summary: 'Describe a feature service.',
  methods: READ_METHODS,
  parameters: [optional('returnUpdates', 'Whether the response has the generations of the layers.', BOOLEAN)],
  response: { type: 'object' },
  run: ({ service, data, parameters }) => ({
    body: toServiceJson(service, data, readBoolean(parameters, 'returnUpdates') ?? false),
  }),
}

const getServiceAdmin: FeatureOperation = {
  ...getService,
  name: 'getFeatureServiceAdmin',
  area: 'admin',
  summary: 'Describe a feature service to its administrators.',
}

export const SERVICE_OPERATIONS: readonly FeatureOperation[] = [getService, getServiceAdmin]
