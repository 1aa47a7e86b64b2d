"""The bundled tables, and the true graphs of the networks they were sampled from."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pgm.data import Dataset, read_csv

TRUE_GRAPHS = {
    "learning.test": "[A][C][F][B|A][D|A:C][E|B:F]",
    "asia": "[A][S][T|A][L|S][B|S][D|B:E][E|T:L][X|E]",
    "insurance": (
        "[Age][Mileage][SocioEcon|Age][GoodStudent|Age:SocioEcon][RiskAversion|Age:SocioEcon]"
        "[VehicleYear|SocioEcon:RiskAversion][MakeModel|SocioEcon:RiskAversion][SeniorTrain|Age:RiskAversion]"
        "[HomeBase|SocioEcon:RiskAversion][AntiTheft|SocioEcon:RiskAversion][RuggedAuto|VehicleYear:MakeModel]"
        "[Antilock|VehicleYear:MakeModel][DrivingSkill|Age:SeniorTrain][CarValue|VehicleYear:MakeModel:Mileage]"
        "[Airbag|VehicleYear:MakeModel][DrivQuality|RiskAversion:DrivingSkill][Theft|CarValue:HomeBase:AntiTheft]"
        "[Cushioning|RuggedAuto:Airbag][DrivHist|RiskAversion:DrivingSkill][Accident|DrivQuality:Mileage:Antilock]"
        "[ThisCarDam|RuggedAuto:Accident][OtherCarCost|RuggedAuto:Accident][MedCost|Age:Accident:Cushioning]"
        "[ILiCost|Accident][ThisCarCost|ThisCarDam:Theft:CarValue][PropCost|ThisCarCost:OtherCarCost][OtherCar|SocioEcon]"
    ),
    "alarm": (
        "[CVP|LVV][PCWP|LVV][HIST|LVF][TPR|APL][BP|CO:TPR][CO|HR:STKV][HRBP|ERLO:HR][HREK|ERCA:HR][HRSA|ERCA:HR]"
        "[PAP|PMB][SAO2|PVS:SHNT][FIO2][PRSS|INT:KINK:VTUB][ECO2|ACO2:VLNG][MINV|INT:VLNG][MVS][HYP][LVF][APL][ANES]"
        "[PMB][INT][KINK][DISC][LVV|HYP:LVF][STKV|HYP:LVF][CCHL|ACO2:ANES:SAO2:TPR][ERLO][HR|CCHL][ERCA][SHNT|INT:PMB]"
        "[PVS|FIO2:VALV][ACO2|VALV][VALV|INT:VLNG][VLNG|INT:KINK:VTUB][VTUB|DISC:VMCH][VMCH|MVS]"
    ),
    "hailfinder": (
        "[N07muVerMo][SubjVertMo][QGVertMotion][CombVerMo|N07muVerMo:SubjVertMo:QGVertMotion]"
        "[AreaMesoALS|CombVerMo][SatContMoist][RaoContMoist][CombMoisture|SatContMoist:RaoContMoist]"
        "[AreaMoDryAir|AreaMesoALS:CombMoisture][VISCloudCov][IRCloudCover][CombClouds|VISCloudCov:IRCloudCover]"
        "[CldShadeOth|AreaMoDryAir:AreaMesoALS:CombClouds][AMInstabMt][InsInMt|CldShadeOth:AMInstabMt]"
        "[WndHodograph][OutflowFrMt|InsInMt:WndHodograph][MorningBound]"
        "[Boundaries|OutflowFrMt:WndHodograph:MorningBound][CldShadeConv|InsInMt:WndHodograph]"
        "[CompPlFcst|Boundaries:CldShadeConv:AreaMesoALS:CldShadeOth][CapChange|CompPlFcst][LoLevMoistAd]"
        "[InsChange|LoLevMoistAd:CompPlFcst][MountainFcst|InsInMt][Date][Scenario|Date][ScenRelAMCIN|Scenario]"
        "[MorningCIN][AMCINInScen|ScenRelAMCIN:MorningCIN][CapInScen|AMCINInScen:CapChange]"
        "[ScenRelAMIns|Scenario][LIfr12ZDENSd][AMDewptCalPl][AMInsWliScen|ScenRelAMIns:LIfr12ZDENSd:AMDewptCalPl]"
        "[InsSclInScen|AMInsWliScen:InsChange][ScenRel34|Scenario][LatestCIN][LLIW][CurPropConv|LatestCIN:LLIW]"
        "[ScnRelPlFcst|Scenario][PlainsFcst|CurPropConv:InsSclInScen:CapInScen:ScnRelPlFcst]"
        "[N34StarFcst|ScenRel34:PlainsFcst][R5Fcst|MountainFcst:N34StarFcst][Dewpoints|Scenario]"
        "[LowLLapse|Scenario][MeanRH|Scenario][MidLLapse|Scenario][MvmtFeatures|Scenario][RHRatio|Scenario]"
        "[SfcWndShfDis|Scenario][SynForcng|Scenario][TempDis|Scenario][WindAloft|Scenario][WindFieldMt|Scenario]"
        "[WindFieldPln|Scenario]"
    ),
}


@cache
def table(name: str) -> Dataset:
    """Return a bundled table."""
    return read_csv(Path(__file__).parent / "tables" / f"{name}.csv.gz")
