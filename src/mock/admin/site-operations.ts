import type { DeliverySettings } from '../delivery-settings.ts'
import { AdminError } from '../http/errors.ts'
import { changed, READ_METHODS, type SiteOperation, unchanged } from './operation.ts'
import { readEach, wholeNumber } from './parameter-values.ts'
import { boundsOf, SETTING_NAMES, settingsParameters } from './settings-parameters.ts'
import { SUCCESS, toListJson } from './webhook-json.ts'

const listSite: SiteOperation = {
  name: 'listSite',
  scope: 'site',
  segment: '',
  summary: 'List all webhooks of all services.',
  methods: READ_METHODS,
  since: '11.2',
  changes: false,
  parameters: [],
  response: 'Webhooks',
  run({ context: { state, options } }) {
    const webhooks = state.webhooks.list().filter(({ serviceType }) => serviceType !== 'Portal')
    return unchanged(toListJson(webhooks, options))
  },
}

const settings: SiteOperation = {
  name: 'settings',
  scope: 'site',
  segment: 'settings',
  summary: 'Read the delivery settings; with parameters, change them.',
  methods: READ_METHODS,
  since: '11.2',
  changes: true,
  parameters: settingsParameters(),
  response: 'Settings',
  run({ context: { state }, method, parameters }) {
    const changes: Partial<DeliverySettings> = readEach(
      SETTING_NAMES.map((name) => {
        const { minimum, maximum } = boundsOf(name)
        return [name, () => wholeNumber(minimum, maximum)(parameters, name)]
      }),
    )
    if (Object.keys(changes).length === 0) return unchanged(state.settings)
    if (method !== 'POST') throw new AdminError(400, 'use POST to change settings')
    state.settings = { ...state.settings, ...changes }
    return changed({ ...state.settings, ...SUCCESS })
  },
}

export const SITE_OPERATIONS: readonly SiteOperation[] = [listSite, settings]
