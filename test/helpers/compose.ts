import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { parse } from 'yaml'

interface Service {
  image: string
  command?: string
  environment?: Record<string, string>
  volumes?: string[]
  network_mode?: string
  depends_on?: Record<string, { condition: string }>
}

/** A file of Docker Compose, limited to the members that our example has. */
export interface Compose {
  services: Record<string, Service>
  volumes: Record<string, unknown>
}

/** Reads `compose.yaml`, and checks that all services and volumes exist that it refers to. */
export function readCompose(folder: string): Compose {
  const compose = parse(readFileSync(join(folder, 'compose.yaml'), 'utf8'), { merge: true }) as Compose
  const { services, volumes, ...others } = compose
  expect(others).toEqual({})
  for (const [name, service] of Object.entries(services)) {
    const { image, volumes: mounts = [], network_mode: network, depends_on: needed = {} } = service
    expect([name, image]).toEqual([name, expect.stringMatching(/^[a-z]+:\d+-alpine$/)])
    for (const [other, { condition }] of Object.entries(needed)) {
      expect(services).toHaveProperty(other)
      expect(condition).toMatch(/^service_(started|healthy|completed_successfully)$/)
      if (condition === 'service_healthy') expect(services[other]).toHaveProperty('healthcheck')
    }
    if (network) expect(services).toHaveProperty(network.replace(/^service:/, ''))
    for (const mount of mounts)
      if (!mount.startsWith('.')) expect(volumes).toHaveProperty(mount.split(':')[0] ?? '')
  }
  return compose
}
