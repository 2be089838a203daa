import type { Pool } from "pg"
import { together } from "../../machine/promises.ts"
import type { Simulator, Simulators } from "./port.ts"

interface Row {
  readonly name: string
  readonly outcome: string
  readonly times: number | null
}

const MOST_AT_ONCE = 500
const ALL = "select * from ledger.simulators"

/** The settings in the table `ledger.simulators`: they outlive a restart. */
export function openPostgresSimulators(pool: Pool): Simulators {
  const find = together<string, Row | undefined>(MOST_AT_ONCE, async (names) => {
    const { rows } = await pool.query<Row>({ name: "stand-ins", text: ALL })
    return names.map((name) => rows.find((row) => row.name === name))
  })
  return {
    next: async <O extends string>({ name }: Simulator<O>) => {
      const row = await find(name)
      if (row === undefined) return "ok"
      // It was checked against what the simulator knows when it was set.
      const outcome = row.outcome as O
      if (row.times === null) return outcome
      const counted = await pool.query(
        "update ledger.simulators set times = times - 1 where name = $1 and times > 0",
        [name],
      )
      return counted.rowCount === 1 ? outcome : "ok"
    },
    set: async ({ name, outcome, times }) => {
      await pool.query(
        `insert into ledger.simulators values ($1, $2, $3)
         on conflict (name) do update set outcome = excluded.outcome, times = excluded.times`,
        [name, outcome, times],
      )
    },
    list: async () => {
      const { rows } = await pool.query<Row>(ALL)
      return rows.filter(({ times }) => times !== 0)
    },
  }
}
