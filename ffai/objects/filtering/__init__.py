"""Which records are meant: filters, orders and tenant rules, behind a guard."""
