/** Tree heads in PostgreSQL. */
import type { Pool, PoolClient } from "pg"
import type { Position } from "../../eventstore/port.ts"
import { inTransaction } from "../projector/tables.ts"
import type { StoredTree, SignedTreeHead, TreeHeads } from "./port.ts"

interface PositionRow {
  readonly commit: string
  readonly prepare: string
}

interface TreeRow {
  readonly tree: string
  readonly size: string
  readonly edge: string
  readonly commit: string
  readonly prepare: string
  readonly at: string
}

interface HeadRow {
  readonly tree: string
  readonly size: string
  readonly root: string
  readonly position: string
  readonly at: string
  readonly public_key: string
  readonly signature: string
}

/** Opens tree heads in the tables of the schema `ledger`. */
export function openPostgresTreeHeads(pool: Pool): TreeHeads {
  return {
    load: async (generation) => {
      const { rows } = await pool.query<PositionRow>(
        "select commit::text, prepare::text from ledger.tree_position where generation = $1",
        [generation],
      )
      const [read] = rows
      if (read === undefined) return null
      const trees = await pool.query<TreeRow>(
        "select tree, size::text, edge, commit::text, prepare::text, at from ledger.trees",
      )
      return { position: toPosition(read), trees: trees.rows.map(toStoredTree) }
    },
    save: (generation, { position, trees }, heads, signedOn) =>
      inTransaction(pool, async (client) => {
        const isAhead = await advancePosition(client, generation, position)
        if (isAhead) await saveTrees(client, trees)
        await client.query(
          `insert into ledger.tree_heads
             (tree, size, root, position, at, public_key, signature, signed_on)
           select tree, size, root, position, at, public_key, signature, $2::date
           from json_populate_recordset(null::ledger.tree_heads, $1::json)
           on conflict do nothing`,
          [JSON.stringify(heads.map(rowOfHead)), signedOn],
        )
      }),
    lastSignedOn: async () => {
      const { rows } = await pool.query<{ day: string | null }>(
        "select max(signed_on)::text as day from ledger.tree_heads",
      )
      return rows[0]?.day ?? null
    },
    newest: (tree) => readHeads(pool, "distinct on (of.tree)", "of.tree, of.size desc", tree),
    list: (tree) => readHeads(pool, "", "of.tree, of.size", tree),
  }
}

async function readHeads(
  pool: Pool,
  distinct: string,
  order: string,
  tree: string | null,
): Promise<readonly SignedTreeHead[]> {
  // The selected `size` is text, so the order must name the table's column: as text, 99 sorts after 717.
  const { rows } = await pool.query<HeadRow>(
    `select ${distinct} tree, size::text, root, position, at, public_key, signature
     from ledger.tree_heads of where $1::text is null or tree = $1 order by ${order}`,
    [tree],
  )
  return rows.map(({ size, public_key: publicKey, ...head }) => {
    return { ...head, size: Number(size), publicKey }
  })
}

/** Advances the position; false if another process advanced it further. */
async function advancePosition(
  client: PoolClient,
  generation: number,
  position: Position,
): Promise<boolean> {
  await client.query(
    `delete from ledger.trees where exists
       (select 1 from ledger.tree_position where generation <> $1)`,
    [generation],
  )
  const { rowCount } = await client.query(
    `insert into ledger.tree_position (generation, commit, prepare) values ($1, $2, $3)
     on conflict (only_one) do update set generation = excluded.generation,
       commit = excluded.commit, prepare = excluded.prepare
     where tree_position.generation <> excluded.generation or tree_position.commit <= excluded.commit`,
    [generation, String(position.commit), String(position.prepare)],
  )
  return rowCount === 1
}

async function saveTrees(client: PoolClient, trees: readonly StoredTree[]): Promise<void> {
  await client.query(
    `insert into ledger.trees (tree, size, edge, commit, prepare, at)
     select tree, size, edge, commit, prepare, at
     from json_populate_recordset(null::ledger.trees, $1::json)
     on conflict (tree) do update set size = excluded.size, edge = excluded.edge,
       commit = excluded.commit, prepare = excluded.prepare, at = excluded.at`,
    [JSON.stringify(trees.map(rowOfTree))],
  )
}

const toPosition = ({
  commit,
  prepare,
}: {
  readonly commit: string
  readonly prepare: string
}) => ({
  commit: BigInt(commit),
  prepare: BigInt(prepare),
})

function toStoredTree({ size, commit, prepare, ...row }: TreeRow): StoredTree {
  return { ...row, size: Number(size), position: toPosition({ commit, prepare }) }
}

function rowOfTree({ position, ...tree }: StoredTree): object {
  return { ...tree, commit: String(position.commit), prepare: String(position.prepare) }
}

function rowOfHead({ publicKey, ...head }: SignedTreeHead): object {
  return { ...head, public_key: publicKey }
}
