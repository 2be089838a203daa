import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * What several processes on one database need to know of each other: up to when each follows the test
 * clock (null: it goes by another), and which company's keys were erased (the empty text: all).
 */
const CHANGES = `
alter table ledger.processes add column clock_at timestamptz;

create function ledger.call_out_erased_keys() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    perform pg_notify('ledger_keys_erased', '');
  else
    perform pg_notify('ledger_keys_erased', old.company_id);
  end if;
  return null;
end $$;

create trigger company_keys_erased after delete on ledger.company_keys
  for each row execute function ledger.call_out_erased_keys();
create trigger subject_keys_erased after delete on ledger.subject_keys
  for each row execute function ledger.call_out_erased_keys();
create trigger all_company_keys_erased after truncate on ledger.company_keys
  for each statement execute function ledger.call_out_erased_keys();
create trigger all_subject_keys_erased after truncate on ledger.subject_keys
  for each statement execute function ledger.call_out_erased_keys();
`

/** Columns and calls for processes that share a database. */
export const severalProcesses: Migration = {
  up: async (db) => {
    await sql.raw(CHANGES).execute(db)
  },
}
