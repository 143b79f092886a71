import { Accounts } from "@svc/auth/Accounts"
import { AccountsRepo } from "@svc/auth/AccountsRepo"
import { Administration } from "@svc/auth/Administration"
import { KeyRegister } from "@svc/auth/KeyRegister"
import { Keys } from "@svc/auth/Keys"
import { KeysRepo } from "@svc/auth/KeysRepo"
import { KeyUse } from "@svc/auth/KeyUse"
import { Organizations } from "@svc/auth/Organizations"
import { TierLimits } from "@svc/auth/TierLimits"
import { Tiers } from "@svc/auth/Tiers"
import { Billing } from "@svc/billing/Billing"
import { HoldsRepo } from "@svc/billing/HoldsRepo"
import { LedgerRepo } from "@svc/billing/LedgerRepo"
import { Rates } from "@svc/billing/Rates"
import { Database } from "@svc/database/Database"
import { Layer } from "effect"

/** What the commands on organizations, keys and credits need: accounts and their money, on the server's own database. */
export const AccountsOffice = Administration.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Organizations.layer, KeyRegister.layer, Billing.layer)),
  Layer.provideMerge(Keys.layer),
  Layer.provideMerge(
    Layer.mergeAll(Accounts.layer, KeyUse.layer, TierLimits.layer, Tiers.layer, Rates.layer, Billing.balance)
  ),
  Layer.provideMerge(Layer.mergeAll(AccountsRepo.layer, KeysRepo.layer, LedgerRepo.layer, HoldsRepo.layer)),
  Layer.provideMerge(Database.layer)
)
