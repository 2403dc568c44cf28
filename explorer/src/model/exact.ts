// Exact numbers, as linkstep computes with: a fraction of two whole ones of any size, below it more than 0.

export class Exact {
  private constructor(readonly over: bigint, readonly under: bigint) {}

  static of(over: bigint | number, under: bigint | number = 1n): Exact {
    return new Exact(BigInt(over), BigInt(under));
  }

  // "63/32", "17" or "0.25".
  static read(text: string): Exact {
    const [over, under = "1"] = text.split("/") as [string, string?];
    const [whole, decimals = ""] = over.split(".") as [string, string?];
    return new Exact(BigInt(whole + decimals), BigInt(under) * 10n ** BigInt(decimals.length));
  }

  plus(other: Exact): Exact {
    return new Exact(this.over * other.under + other.over * this.under, this.under * other.under);
  }

  minus(other: Exact): Exact {
    return new Exact(this.over * other.under - other.over * this.under, this.under * other.under);
  }

  times(other: Exact): Exact {
    return new Exact(this.over * other.over, this.under * other.under);
  }

  by(other: Exact): Exact {
    return new Exact(this.over * other.under, this.under * other.over);
  }

  isLess(other: Exact): boolean {
    return this.over * other.under < other.over * this.under;
  }

  get isZero(): boolean {
    return this.over === 0n;
  }

  // The largest whole number that is not more; of what is not below 0.
  get floor(): bigint {
    return this.over / this.under;
  }

  // The nearest number of the browser's, as Python's float() of a Fraction.
  get number(): number {
    if (this.over < 0n) return -new Exact(-this.over, this.under).number;
    if (this.isZero) return 0;
    // Enough digits that a last one can say whether anything is left: then a browser rounds as it is right to.
    const shift = 66 - (bits(this.over) - bits(this.under));
    const over = shift > 0 ? this.over << BigInt(shift) : this.over;
    const under = shift < 0 ? this.under << BigInt(-shift) : this.under;
    const whole = over / under;
    return Number(over % under ? whole | 1n : whole) * 2 ** -shift;
  }
}

const bits = (value: bigint): number => value.toString(16).length * 4;
