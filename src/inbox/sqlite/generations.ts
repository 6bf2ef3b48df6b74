import type { GenerationStore } from '../generations.ts'
import type { Transactions } from './transactions.ts'

export function createSqliteGenerations({ read, write }: Transactions): GenerationStore {
  return {
    get: (service, handler = '') =>
      read((db) => {
        const rows = db.all<{ layer: number; generation: number }>(
          'SELECT layer, generation FROM generation WHERE handler = ? AND service = ?',
          handler,
          service,
        )
        return new Map(rows.map(({ layer, generation }) => [layer, generation]))
      }),
    raise: (service, generations, handler = '') =>
      write((db) => {
        for (const [layer, generation] of generations)
          db.run(
            `INSERT INTO generation VALUES (?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET generation = max(generation, excluded.generation)`,
            ...[handler, service, layer, generation],
          )
      }),
    replace: (service, generations) =>
      write((db) => {
        db.run('DELETE FROM generation WHERE service = ?', service)
        for (const [layer, generation] of generations)
          db.run("INSERT INTO generation VALUES ('', ?, ?, ?)", service, layer, generation)
      }),
  }
}
